#include "cli/views/utf8.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/text.h"

namespace assay::cli {
namespace {

constexpr std::string_view kEllipsis = "\xe2\x80\xa6";

using Range = std::pair<char32_t, char32_t>;

// Combining marks and other characters without a width (Unicode 15, the blocks
// that occur in names).
constexpr std::array<Range, 9> kZeroWidth = {{{0x0300, 0x036f},
                                              {0x0483, 0x0489},
                                              {0x0591, 0x05bd},
                                              {0x064b, 0x065f},
                                              {0x1ab0, 0x1aff},
                                              {0x1dc0, 0x1dff},
                                              {0x200b, 0x200f},
                                              {0x20d0, 0x20ff},
                                              {0xfe00, 0xfe0f}}};

// East Asian wide and fullwidth characters, and emoji.
constexpr std::array<Range, 11> kWide = {{{0x1100, 0x115f},
                                          {0x2e80, 0x303e},
                                          {0x3041, 0x33ff},
                                          {0x3400, 0x4dbf},
                                          {0x4e00, 0x9fff},
                                          {0xa000, 0xa4cf},
                                          {0xac00, 0xd7a3},
                                          {0xf900, 0xfaff},
                                          {0xfe30, 0xfe6f},
                                          {0xff00, 0xff60},
                                          {0x1f300, 0x1faff}}};

template <size_t kSize>
bool Contains(const std::array<Range, kSize>& ranges, char32_t point) {
  return std::any_of(ranges.begin(), ranges.end(), [point](const Range& range) {
    return point >= range.first && point <= range.second;
  });
}

int Width(const Utf8Character& character) {
  if (!character.valid) return 1;
  if (Contains(kZeroWidth, character.code_point)) return 0;
  return Contains(kWide, character.code_point) ? 2 : 1;
}

}  // namespace

int DisplayWidth(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Utf8Character character = DecodeUtf8(text);
    width += Width(character);
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string Truncate(std::string_view text, int width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width <= 0) return "";
  std::string kept;
  int used = 0;
  while (!text.empty()) {
    const Utf8Character character = DecodeUtf8(text);
    used += Width(character);
    if (used > width - 1) break;
    kept += text.substr(0, character.bytes);
    text.remove_prefix(character.bytes);
  }
  return kept.append(kEllipsis);
}

std::string Wrap(std::string_view text, int width, int indent) {
  if (width <= 0 || DisplayWidth(text) <= width) return std::string(text);
  std::string wrapped;
  int column = 0;
  while (!text.empty()) {
    // A word with the spaces before it.
    const size_t start = std::min(text.find_first_not_of(' '), text.size());
    const size_t end = std::min(text.find(' ', start), text.size());
    const std::string_view word = text.substr(start, end - start);
    const int taken = static_cast<int>(start) + DisplayWidth(word);
    if (column > indent && column + taken > width) {
      wrapped += "\n" + std::string(static_cast<size_t>(indent), ' ');
      wrapped += word;
      column = indent + DisplayWidth(word);
    } else {
      wrapped += text.substr(0, end);
      column += taken;
    }
    text.remove_prefix(end);
  }
  return wrapped;
}

}  // namespace assay::cli
