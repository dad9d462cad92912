// Finds the folders that may contain CUDA's libraries (cuBLASLt, NCCL, CUPTI), and says how to
// install these.
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

// Returns, in this order, the library folders of
//   1. the toolkits that the variables CUDA_HOME and CUDA_PATH name,
//   2. the toolkit that the program was built with (`built_with`, a folder of libraries),
//   3. /usr/local/cuda,
//   4. pip's packages (nvidia/*/lib) of the virtual environment that VIRTUAL_ENV names, of the
//      python3 on PATH, of the user (~/.local) and of the distribution's Python.
// Leaves out folders of pip's packages that do not exist. Tests pass `root`, which replaces "/".
CudaFolders FindCudaFolders(const std::string& built_with, const ReadVariable& variable,
                            const std::string& root = "");

// Returns a text that says how to install the CUDA library with the file name `soname`. `cuda` is
// the version of CUDA that the program was built with, in the format of CUDART_VERSION: 13000 is
// version 13.0.
std::string HowToInstallCudaLibrary(const std::string& soname, int cuda);

}  // namespace assay
