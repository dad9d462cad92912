#include "cli/views/table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/views/utf8.h"
#include "common/text.h"

namespace assay::cli {
namespace {

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
