// Tables for a terminal: columns aligned by what the eye sees, never wider than
// the terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

enum class Align { kLeft, kRight };
// What colour a cell has where colour is wanted.
enum class Tone { kPlain, kDim, kGood, kBad, kDoubtful };

struct Column {
  std::string header;
  Align align = Align::kLeft;
  // Where the table is too wide, columns with the highest number are left out
  // first; those with 0 always stay.
  int expendable = 0;
};

struct Cell {
  Cell(std::string text = "", Tone tone = Tone::kPlain)  // NOLINT: implicit on purpose
      : text(std::move(text)), tone(tone) {}
  Cell(const char* text) : text(text) {}  // NOLINT: implicit on purpose

  std::string text;
  Tone tone = Tone::kPlain;
};

// How output is to look.
struct Style {
  // Columns of the terminal; 0 for no limit (a file or a pipe).
  int width = 0;
  bool colour = false;
};

// Of this descriptor: a width if it is a terminal; colour if also NO_COLOR is
// unset and TERM is not "dumb".
Style StyleOf(int descriptor);

// `text` in the colour of `tone`, or as it is without colour.
std::string Paint(std::string_view text, Tone tone, bool colour);

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns; fewer are filled with empty ones.
  void Add(std::vector<Cell> row);

  bool empty() const { return rows_.empty(); }

  // Header and rows, a line each. Columns that are empty in every row are left
  // out. What did not fit is named in a last line.
  std::string Render(const Style& style) const;

  // The rows alone, one string each, without line ends.
  std::vector<std::string> RenderRows(const Style& style) const;

 private:
  std::vector<int> Widths() const;
  std::string RenderRow(const std::vector<Cell>& row, const std::vector<int>& widths,
                        bool colour) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace assay::cli
