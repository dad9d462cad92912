// Libraries of the CUDA toolkit, loaded when first used.
#pragma once

#include <string>

#include "host/dynamic_library.h"

namespace assay {

// As DynamicLibrary::Open, which also looks in the toolkit that the program was built with
// and in /usr/local/cuda and its CUPTI.
Result<DynamicLibrary> OpenToolkitLibrary(const std::string& soname);

}  // namespace assay
