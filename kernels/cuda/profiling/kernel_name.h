// Converts the symbols of GPU kernels to readable names.
#pragma once

#include <cstddef>
#include <string>

namespace assay {

// Shortens the demangled symbol of a kernel: removes the return type, the parameter list and
// anonymous namespaces, and keeps at most kMaxKernelName characters.
std::string ShortKernelName(const std::string& symbol);
inline constexpr size_t kMaxKernelName = 200;

}  // namespace assay
