# Language level, warnings, sanitizers and build speed, for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
# Debug information of templates-heavy gRPC code costs most of the build: keep
# line tables for backtraces, drop the rest.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")

find_program(ASSAY_CCACHE ccache)
if(ASSAY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${ASSAY_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ASSAY_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${ASSAY_CCACHE})
endif()
# Compiling eight sources as one halves the time of a whole build and makes that of one changed file
# longer. ./dev demo and continuous integration use it.
if(ASSAY_UNITY)
  set(CMAKE_UNITY_BUILD ON)
endif()
find_program(ASSAY_MOLD mold)
if(ASSAY_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Warnings apply to our own sources only: linked by assay_base, not set globally,
# so that generated protobuf code stays quiet.
add_library(assay_warnings INTERFACE)
target_compile_options(assay_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:Clang>>:-Wthread-safety>)

if(ASSAY_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${ASSAY_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=undefined>)
  add_link_options(-fsanitize=${ASSAY_SANITIZE})
  if(ASSAY_SANITIZE MATCHES "thread")
    # protobuf's maps would get members that the installed library does not know.
    add_compile_options(-U__SANITIZE_THREAD__)
  endif()
endif()

# Packages are found where they are first needed; whoever links those libraries
# elsewhere in the tree needs their targets too.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
