// Draws plots as text.
#pragma once

#include <string>
#include <vector>

namespace assay::cli {

struct PlotStyle {
  // The width of the whole plot in columns.
  int width = 80;
  // The number of lines of the curve, without axis and legend.
  int rows = 10;
  // True if the terminal shows braille and block characters. Otherwise the plot is plain ASCII.
  bool unicode = false;
};

// Returns the plot style for stdout. Without a terminal, it is ASCII of 80 columns.
PlotStyle PlotStyleOfStdout();

// A grid of characters for curves, bands and marks. Positions outside the grid are not drawn.
class Canvas {
 public:
  Canvas(int columns, int rows, bool unicode)
      : columns_(columns),
        rows_(rows),
        unicode_(unicode),
        cells_(static_cast<size_t>(columns) * static_cast<size_t>(rows)) {}

  // Return the width and the height of the grid in dots. A braille character has 2 x 4 dots.
  // Without braille characters, each character is a single dot.
  int dots_x() const { return columns_ * (unicode_ ? 2 : 1); }
  int dots_y() const { return rows_ * (unicode_ ? 4 : 1); }

  void Dot(int x, int y);
  void Shade(int column, int row);
  void Rule(int column);
  // Shows `symbol` instead of dots. If two marks have the same position, the first one is kept.
  void Mark(int column, int row, char symbol);

  // Returns a row without spaces at its end.
  std::string Line(int row) const;

 private:
  struct Cell {
    unsigned dots = 0;
    bool shaded = false;
    bool ruled = false;
    char mark = '\0';
  };

  // Returns null for a position outside the grid.
  Cell* At(int column, int row);

  int columns_;
  int rows_;
  bool unicode_;
  std::vector<Cell> cells_;
};

}  // namespace assay::cli
