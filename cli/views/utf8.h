// Text on a terminal: its width, and how to cut and wrap it.
#pragma once

#include <string>
#include <string_view>

namespace assay::cli {

// Returns how many columns `text` takes: 2 for East Asian wide characters and emoji, 0 for
// combining marks, 1 for all others. Escape sequences count as text.
int DisplayWidth(std::string_view text);

// Cuts `text` to at most `width` columns. The last column is an ellipsis if something was cut.
std::string Truncate(std::string_view text, int width);

// Breaks `text` at spaces into lines of at most `width` columns. All lines but the first begin with
// `indent` spaces. Words that are too long are not broken; a `width` of 0 breaks nothing.
std::string Wrap(std::string_view text, int width, int indent);

}  // namespace assay::cli
