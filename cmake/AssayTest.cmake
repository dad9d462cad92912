# assay_test(NAME file... LIBRARIES lib... [LABELS label...] [TIMEOUT seconds])
# One GoogleTest program, one ctest entry a test case; default label "unit".
include(GoogleTest)

# What every test program shares: golden wording.
add_library(assay_test_support STATIC ${PROJECT_SOURCE_DIR}/tests/wording.cc)
target_include_directories(assay_test_support PUBLIC ${PROJECT_SOURCE_DIR})
target_compile_definitions(assay_test_support
  PRIVATE ASSAY_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/tests/golden")
target_link_libraries(assay_test_support PUBLIC GTest::gmock)

function(assay_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LIBRARIES;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} assay_test_support GTest::gmock GTest::gtest_main)
  # Optimising the tests themselves costs a third of their build and saves no time when they run.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
  if(ASSAY_SANITIZE)  # GCC's own macro for threads is undefined for protobuf's sake.
    target_compile_definitions(${name} PRIVATE ASSAY_SANITIZED=1)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  # A test that does not list its own within the timeout fails the whole run: 5 s are too short
  # for a machine that is busy.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
endfunction()
