// Random UUIDs.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// Returns a random UUID (version 4), lower case with hyphens.
std::string NewUuid();

// Returns true for the 36 characters of a UUID of any version, in lower case.
bool IsUuid(std::string_view text);

}  // namespace assay
