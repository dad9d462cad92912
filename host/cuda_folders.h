// Where a machine may have CUDA's libraries (cuBLASLt, NCCL, CUPTI), and where to get them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace assay {

// Returns the value of an environment variable, or null if it is not set; as std::getenv.
using ReadVariable = std::function<const char*(const char* name)>;

// The places to search for CUDA's libraries.
struct CudaFolders {
  std::vector<std::string> folders;  // In the order of the search.
  // The same for an error message: "CUDA_HOME (/opt/cuda), /usr/local/cuda, ...".
  std::string description;
};

// Returns, in this order, the library folders of
//   1. the toolkits that the variables CUDA_HOME and CUDA_PATH name,
//   2. the toolkit that the program was built with (`built_with`, a folder of libraries),
//   3. /usr/local/cuda,
//   4. pip's packages (nvidia/*/lib) of the virtual environment that VIRTUAL_ENV names, of the
//      python3 on PATH, of the user (~/.local) and of the distribution's Python.
// Returns only those of pip's folders that exist. `root` replaces "/" in tests.
CudaFolders FindCudaFolders(const std::string& built_with, const ReadVariable& variable,
                            const std::string& root = "");

// Returns how to install one of CUDA's libraries, by its file name. `cuda` is the version that the
// program was built with, as in CUDART_VERSION: 13000 is 13.0.
std::string HowToInstallCudaLibrary(const std::string& soname, int cuda);

}  // namespace assay
