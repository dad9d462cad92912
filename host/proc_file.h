// Numbers in files of /proc and /sys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// Returns the number at the start of a file. Absent if there is no such file, or another word
// ("max").
std::optional<int64_t> NumberIn(const std::string& path);

// Returns the number after `name` in a file with lines "name number ...".
std::optional<int64_t> NumberOf(const std::string& name, const std::string& path);

}  // namespace assay
