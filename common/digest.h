// Digests of content.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// Returns the SHA-256 digest as 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

}  // namespace assay
