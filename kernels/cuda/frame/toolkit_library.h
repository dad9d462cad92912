// Libraries of the CUDA toolkit, loaded on first use.
#pragma once

#include <string>

#include "host/dynamic_library.h"

namespace assay {

// Works like DynamicLibrary::Open, and also searches the toolkit that the program was built with
// and /usr/local/cuda and its CUPTI.
Result<DynamicLibrary> OpenToolkitLibrary(const std::string& soname);

}  // namespace assay
