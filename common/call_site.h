// Where a library's call failed, for every library's check.
#pragma once

#include <string>

namespace assay {

// "expression at kernels/cuda/file.cu:12".
std::string CallSite(const char* expression, const char* file, int line);

}  // namespace assay
