# assay_sources(RESULT FOLDER...): the C++ and CUDA sources of this room's folders, without the
# program's main.cc. One folder is one library, so a new file needs no line here.
function(assay_sources result)
  set(found)
  foreach(folder ${ARGN})
    get_filename_component(path ${folder} ABSOLUTE)  # Without "/./", so that paths compare equal.
    file(GLOB here CONFIGURE_DEPENDS ${path}/*.cc ${path}/*.cu)
    list(APPEND found ${here})
  endforeach()
  list(FILTER found EXCLUDE REGEX "/main\\.cc$")
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Adds a room's unit tests, which mirror its folder under tests/unit.
function(assay_unit_tests room)
  if(ASSAY_TESTS)
    add_subdirectory(${PROJECT_SOURCE_DIR}/tests/unit/${room} ${PROJECT_BINARY_DIR}/tests/unit/${room})
  endif()
endfunction()
