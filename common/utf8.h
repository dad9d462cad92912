// Text that may go into messages: protobuf and PostgreSQL take UTF-8 alone. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace assay {

// Bytes of the well-formed UTF-8 character at the front of `text`, which is not
// empty; 0 if there is none.
size_t Utf8Bytes(std::string_view text);

// True if `text` is UTF-8 without control characters (C0, DEL, C1).
bool IsPlainText(std::string_view text);

}  // namespace assay
