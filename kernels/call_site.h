// Describes, for error messages, where in the source code a call of a library has failed.
#pragma once

#include <string>

namespace assay {

// Returns a text such as "EXPRESSION at kernels/cuda/file.cu:12".
std::string CallSite(const char* expression, const char* file, int line);

}  // namespace assay
