// Names of GPU kernels for people.
#pragma once

#include <cstddef>
#include <string>

namespace assay {

// A kernel's symbol as people read it: demangled, without return type, parameter list
// and anonymous namespaces, and cut to kMaxKernelName characters.
std::string ShortKernelName(const std::string& symbol);
inline constexpr size_t kMaxKernelName = 200;

}  // namespace assay
