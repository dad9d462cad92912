#include "cli/views/table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "common/text.h"

namespace assay::cli {
namespace {

constexpr std::string_view kEllipsis = "\xe2\x80\xa6";

using Range = std::pair<char32_t, char32_t>;

// Ranges of combining marks and other zero-width characters (Unicode 15), limited to Unicode blocks
// with characters that are likely to appear in names.
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

constexpr int kGap = 2;
// Columns are not cut to less than this.
constexpr int kLeastCut = 8;
// The width of a hidden column.
constexpr int kHidden = 0;

int TotalWidth(const std::vector<int>& widths) {
  int total = 0;
  for (const int width : widths) total += width == kHidden ? 0 : width + kGap;
  return std::max(total - kGap, 0);
}

// Hides expendable columns until the table fits, then cuts the widest ones.
std::vector<size_t> Fit(const std::vector<Column>& columns, int limit, std::vector<int>& widths) {
  std::vector<size_t> hidden;
  while (TotalWidth(widths) > limit) {
    size_t victim = columns.size();
    for (size_t i = 0; i < columns.size(); ++i) {
      const bool candidate = widths[i] != kHidden && columns[i].expendable > 0;
      if (candidate &&
          (victim == columns.size() || columns[i].expendable >= columns[victim].expendable)) {
        victim = i;
      }
    }
    if (victim == columns.size()) break;
    widths[victim] = kHidden;
    hidden.push_back(victim);
  }
  while (TotalWidth(widths) > limit) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kLeastCut) break;
    *widest = std::max(kLeastCut, *widest - (TotalWidth(widths) - limit));
  }
  std::sort(hidden.begin(), hidden.end());
  return hidden;
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
    // Takes one word with the spaces before it.
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

Style StyleOf(int descriptor) {
  Style style;
  if (isatty(descriptor) == 0) return style;
  winsize size{};
  constexpr int kUsualWidth = 80;
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  style.width = known ? size.ws_col : kUsualWidth;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  style.colour = (no_colour == nullptr || *no_colour == '\0') && terminal != nullptr &&
                 std::string_view(terminal) != "dumb";
  return style;
}

std::string Paint(std::string_view text, Tone tone, bool colour) {
  if (!colour || tone == Tone::kPlain || text.empty()) return std::string(text);
  const char* code = tone == Tone::kDim    ? "2"
                     : tone == Tone::kGood ? "32"
                     : tone == Tone::kBad  ? "31"
                                           : "33";
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

void Table::Add(std::vector<Cell> row) {
  row.resize(columns_.size());
  for (Cell& cell : row) cell.text = Sanitize(cell.text);
  rows_.push_back(std::move(row));
}

std::vector<int> Table::Widths() const {
  std::vector<int> widths(columns_.size(), kHidden);
  for (const std::vector<Cell>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], DisplayWidth(row[i].text));
  }
  for (size_t i = 0; i < widths.size(); ++i) {
    const bool shown = widths[i] != kHidden || rows_.empty();
    if (shown) widths[i] = std::max(widths[i], DisplayWidth(columns_[i].header));
  }
  return widths;
}

std::string Table::RenderRow(const std::vector<Cell>& row, const std::vector<int>& widths,
                             bool colour) const {
  std::string line;
  size_t end = 0;  // End of the last visible character; the rest of the line is dropped.
  bool first = true;
  for (size_t i = 0; i < row.size(); ++i) {
    if (widths[i] == kHidden) continue;
    if (!first) line.append(kGap, ' ');
    first = false;
    const std::string text = Truncate(row[i].text, widths[i]);
    const auto padding = static_cast<size_t>(widths[i] - DisplayWidth(text));
    if (columns_[i].align == Align::kRight) line.append(padding, ' ');
    line += Paint(text, row[i].tone, colour);
    if (!text.empty()) end = line.size();
    if (columns_[i].align == Align::kLeft) line.append(padding, ' ');
  }
  return line.substr(0, end);
}

std::vector<std::string> Table::RenderRows(const Style& style) const {
  std::vector<int> widths = Widths();
  if (style.width > 0) Fit(columns_, style.width, widths);
  std::vector<std::string> lines;
  for (const std::vector<Cell>& row : rows_) lines.push_back(RenderRow(row, widths, style.colour));
  return lines;
}

std::string Table::Render(const Style& style) const {
  std::vector<int> widths = Widths();
  std::vector<size_t> hidden;
  if (style.width > 0) hidden = Fit(columns_, style.width, widths);
  std::string out;
  std::vector<Cell> header;
  for (const Column& column : columns_) header.emplace_back(column.header, Tone::kDim);
  out += RenderRow(header, widths, style.colour) + "\n";
  for (const std::vector<Cell>& row : rows_) out += RenderRow(row, widths, style.colour) + "\n";
  if (!hidden.empty()) {
    std::string names;
    for (const size_t i : hidden) names += (names.empty() ? "" : ", ") + columns_[i].header;
    out += Paint(Truncate("left out to fit the width: " + names, style.width), Tone::kDim,
                 style.colour) +
           "\n";
  }
  return out;
}

}  // namespace assay::cli
