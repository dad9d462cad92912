// Identifiers: SHA-256 of content, and random UUIDs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/status.h"

namespace assay {

// 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

// A random UUID (version 4), lower case with hyphens.
std::string NewUuid();

// True for 36 characters of any UUID version, in lower case.
bool IsUuid(std::string_view text);

// The whole file; the error names the path and why, as that it has more than `most` bytes.
Result<std::string> ReadFile(const std::string& path, size_t most = SIZE_MAX);

}  // namespace assay
