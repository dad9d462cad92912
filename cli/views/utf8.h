// Text as a terminal shows it: how wide it is, and free of what would move the
// cursor.
#pragma once

#include <string>
#include <string_view>

namespace assay::cli {

// The first character of a text.
struct Utf8Character {
  char32_t code_point = 0;
  int bytes = 1;
  // False: the first byte begins no well-formed character.
  bool valid = false;
};

// `text` must not be empty.
Utf8Character DecodeUtf8(std::string_view text);

// Columns of a terminal that `text` takes: 2 for East Asian wide characters and
// emoji, 0 for combining marks, 1 for all else. Escape sequences count as text.
int DisplayWidth(std::string_view text);

// The front of `text`, at most `width` columns; if something is cut, the last
// column is an ellipsis.
std::string Truncate(std::string_view text, int width);

// `text` in lines of at most `width` columns, broken at spaces; all but the first
// begin with `indent` spaces. A `width` of 0 leaves it whole, and so does a word
// that is too long.
std::string Wrap(std::string_view text, int width, int indent);

// `text` with control characters, escape sequences included, and malformed bytes
// replaced by U+FFFD: names come from other machines.
std::string Sanitize(std::string_view text);

}  // namespace assay::cli
