# cmake -DSCRIPT=... -DOUTPUT=... -P embed_join_script.cmake: writes join.sh as a C++ string literal.
file(READ ${SCRIPT} text)
set(code "#include \"coordinator/web/join_script.h\"\n\nnamespace assay::coordinator::web {\n\n")
string(APPEND code "const char* JoinScript() { return R\"assay_sh(${text})assay_sh\"; }\n\n")
string(APPEND code "}  // namespace assay::coordinator::web\n")
file(WRITE ${OUTPUT} "${code}")
