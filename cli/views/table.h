// Text and tables that fit a terminal. Columns are aligned by display width.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

// Returns how many columns `text` takes: 2 for East Asian wide characters and emoji, 0 for
// combining marks, 1 for all others. Escape sequences count as text.
int DisplayWidth(std::string_view text);

// Cuts `text` to at most `width` columns. The last column is an ellipsis if something was cut.
std::string Truncate(std::string_view text, int width);

// Breaks `text` at spaces into lines of at most `width` columns. All lines but the first begin with
// `indent` spaces. Words that are too long are not broken; a `width` of 0 breaks nothing.
std::string Wrap(std::string_view text, int width, int indent);

enum class Align { kLeft, kRight };
// The meaning of a cell, shown as its colour.
enum class Tone { kPlain, kDim, kGood, kBad, kDoubtful };

struct Column {
  std::string header;
  Align align = Align::kLeft;
  // If the table is too wide, columns with the highest number are left out first. Those with 0
  // always stay.
  int expendable = 0;
};

struct Cell {
  Cell(std::string text = "", Tone tone = Tone::kPlain)  // NOLINT: implicit on purpose
      : text(std::move(text)), tone(tone) {}
  Cell(const char* text) : text(text) {}  // NOLINT: implicit on purpose

  std::string text;
  Tone tone = Tone::kPlain;
};

// Width and colour of output.
struct Style {
  // In columns; 0 for no limit, as for a file or a pipe.
  int width = 0;
  bool colour = false;
};

// Returns the style for output to a file descriptor: the width if it is a terminal, and colour if
// also NO_COLOR is unset and TERM is not "dumb".
Style StyleOf(int descriptor);

// Returns `text` in the colour of `tone`, or unchanged if `colour` is false.
std::string Paint(std::string_view text, Tone tone, bool colour);

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Adds a row of at most as many cells as columns; missing cells are empty.
  void Add(std::vector<Cell> row);

  bool empty() const { return rows_.empty(); }

  // Returns header and rows, one line each. Columns that are empty in every row are left out. A
  // last line names the columns that did not fit.
  std::string Render(const Style& style) const;

  // Returns the rows without header and line ends.
  std::vector<std::string> RenderRows(const Style& style) const;

 private:
  std::vector<int> Widths() const;
  std::string RenderRow(const std::vector<Cell>& row, const std::vector<int>& widths,
                        bool colour) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace assay::cli
