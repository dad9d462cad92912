// Reading of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/status.h"

namespace assay {

// Returns the content of a file. The error names the path and the reason, also if the file has
// more than `most` bytes.
Result<std::string> ReadFile(const std::string& path, size_t most = SIZE_MAX);

// Returns the first line of a file; empty if it cannot be read.
std::string FirstLineOf(const std::string& path);

}  // namespace assay
