// The place of a failed call of a library, for error messages.
#pragma once

#include <string>

namespace assay {

// Returns "EXPRESSION at kernels/cuda/file.cu:12".
std::string CallSite(const char* expression, const char* file, int line);

}  // namespace assay
