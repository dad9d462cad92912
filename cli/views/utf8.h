// The width of text on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace assay::cli {

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

}  // namespace assay::cli
