// Text and tables that fit a terminal. Columns are aligned by display width.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

// Returns the number of terminal columns that `text` occupies. East Asian wide characters and emoji
// take two columns, combining marks none, and all other characters one. Does not recognize escape
// sequences, but counts their characters.
int DisplayWidth(std::string_view text);

// Cuts `text` to at most `width` columns. The last column is an ellipsis if something was cut.
std::string Truncate(std::string_view text, int width);

// Wraps `text` at spaces into lines of at most `width` columns. Indents all lines except the first
// by `indent` spaces. Does not split words that are longer than a line. If `width` is 0, does not
// wrap the text.
std::string Wrap(std::string_view text, int width, int indent);

enum class Align { kLeft, kRight };
// The meaning of a cell, shown as its color.
enum class Tone { kPlain, kDim, kGood, kBad, kDoubtful };

struct Column {
  std::string header;
  Align align = Align::kLeft;
  // The order in which columns are dropped if the table is too wide: columns with higher numbers
  // are dropped first, and columns with the number 0 never.
  int expendable = 0;
};

struct Cell {
  Cell(std::string text = "", Tone tone = Tone::kPlain)  // NOLINT: implicit on purpose
      : text(std::move(text)), tone(tone) {}
  Cell(const char* text) : text(text) {}  // NOLINT: implicit on purpose

  std::string text;
  Tone tone = Tone::kPlain;
};

// The width and color of output.
struct Style {
  // In columns; 0 for no limit, as for a file or a pipe.
  int width = 0;
  bool colour = false;
};

// Returns the output style for a file descriptor. On a terminal, uses the terminal's width, and
// colors unless NO_COLOR is set or TERM is "dumb".
Style StyleOf(int descriptor);

// Returns `text` in the color of `tone`, or unchanged if `colour` is false.
std::string Paint(std::string_view text, Tone tone, bool colour);

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Adds a row of at most as many cells as columns; missing cells are empty.
  void Add(std::vector<Cell> row);

  bool empty() const { return rows_.empty(); }

  // Renders the header and the rows, one line each. Omits columns that are empty in every row. If
  // the table is still too wide, drops more columns (see Column::expendable) and names them in an
  // extra line at the end.
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
