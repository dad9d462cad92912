# Decides whether CUDA and NCCL benchmarks are built: ASSAY_HAVE_CUDA, ASSAY_HAVE_NCCL.

# Sets `result` to the architectures of this machine's GPUs, less those that the compiler does not
# know; where none is left, to Hopper's.
function(assay_local_architectures result)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE capabilities RESULT_VARIABLE failed ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+[.][0-9]" capabilities "${capabilities}")
  if(failed)
    set(capabilities "")
  endif()
  list(REMOVE_DUPLICATES capabilities)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE known ERROR_QUIET)
  set(architectures "")
  foreach(capability IN LISTS capabilities)
    string(REPLACE "." "" architecture ${capability})
    if(NOT "${known}" MATCHES "sm_${architecture}\n")
      message(STATUS "nvcc has no code for this machine's GPU of compute capability ${capability}")
      continue()
    endif()
    # wgmma and the bulk copies are in none but 90a.
    string(REGEX REPLACE "^90$" "90a" architecture ${architecture})
    list(APPEND architectures ${architecture}-real)
  endforeach()
  if(NOT architectures)
    set(architectures 90a-real)
  endif()
  set(${result} "${architectures}" PARENT_SCOPE)
endfunction()

set(ASSAY_HAVE_CUDA OFF)
set(ASSAY_HAVE_NCCL OFF)

if(NOT ASSAY_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      assay_local_architectures(local)
      set(CMAKE_CUDA_ARCHITECTURES "${local}" CACHE STRING "GPU architectures" FORCE)
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    # CMake 3.25 does not know CUDA_STANDARD 20 for nvcc.
    set(CMAKE_CUDA_STANDARD 17)
    set(ASSAY_HAVE_CUDA ON)
  elseif(ASSAY_CUDA STREQUAL "ON")
    message(FATAL_ERROR "ASSAY_CUDA=ON, but no CUDA compiler was found. "
                        "Put nvcc on the PATH or set CMAKE_CUDA_COMPILER.")
  endif()
endif()

if(ASSAY_HAVE_CUDA AND NOT ASSAY_NCCL STREQUAL "OFF")
  find_path(ASSAY_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(ASSAY_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${CUDAToolkit_LIBRARY_DIR}
               ${CUDAToolkit_LIBRARY_ROOT}/lib)
  if(ASSAY_NCCL_INCLUDE AND ASSAY_NCCL_LIBRARY)
    set(ASSAY_HAVE_NCCL ON)
  elseif(ASSAY_NCCL STREQUAL "ON")
    message(FATAL_ERROR "ASSAY_NCCL=ON, but nccl.h or libnccl was not found. "
                        "Set ASSAY_NCCL_INCLUDE and ASSAY_NCCL_LIBRARY.")
  endif()
endif()

message(STATUS "CUDA benchmarks: ${ASSAY_HAVE_CUDA}, NCCL benchmarks: ${ASSAY_HAVE_NCCL}")
