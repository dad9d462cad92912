// The numbers that Linux tells in files under /proc and /sys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// The number that a file begins with; absent for no such file, or another word ("max").
std::optional<int64_t> NumberIn(const std::string& path);

// The number behind `name` in a file of lines "name number ...".
std::optional<int64_t> NumberOf(const std::string& name, const std::string& path);

}  // namespace assay
