// Readable names of GPU kernels.
#pragma once

#include <cstddef>
#include <string>

namespace assay {

// Returns a kernel's demangled symbol without return type, parameter list and anonymous namespaces,
// limited to kMaxKernelName characters.
std::string ShortKernelName(const std::string& symbol);
inline constexpr size_t kMaxKernelName = 200;

}  // namespace assay
