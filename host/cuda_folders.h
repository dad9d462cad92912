// Finds the folders that may contain CUDA's libraries (cuBLASLt, NCCL, CUPTI), and tells users how
// to install missing ones.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace assay {

// Returns the value of an environment variable, or null if it is not set, as std::getenv does.
using ReadVariable = std::function<const char*(const char* name)>;

// The places to search for CUDA's libraries.
struct CudaFolders {
  std::vector<std::string> folders;  // In the order of the search.
  // The places as text for an error message: "CUDA_HOME (/opt/cuda), /usr/local/cuda, ...".
  std::string description;
};

// Returns the folders to search for CUDA's libraries, in this order:
//   1. the toolkits named by the variables CUDA_HOME and CUDA_PATH,
//   2. `built_with`, the library folder of the toolkit that the program was built with,
//   3. /usr/local/cuda,
//   4. NVIDIA's pip packages, if installed: those of the virtual environment, of the python3 on
//      PATH, of the user, and of the distribution's Python.
// `root`, which only tests set, replaces "/".
CudaFolders FindCudaFolders(const std::string& built_with, const ReadVariable& variable,
                            const std::string& root = "");

// Returns instructions for installing the CUDA library whose file name is `soname`. `cuda` is the
// CUDA version that the program was built with, in the format of CUDART_VERSION (13000 is 13.0).
std::string HowToInstallCudaLibrary(const std::string& soname, int cuda);

}  // namespace assay
