#include "cli/views/plot_canvas.h"

#include <unistd.h>

#include <cstdlib>

#include "cli/views/table.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr int kDotsPerRow = 4;  // Of a braille character.

std::string BrailleText(unsigned dots) {
  const unsigned code = 0x2800 + dots;
  return {static_cast<char>(0xe0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3f)),
          static_cast<char>(0x80 | (code & 0x3f))};
}

bool IsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string lower = Lower(value);
    return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

PlotStyle PlotStyleOfStdout() {
  PlotStyle style;
  if (const int width = StyleOf(STDOUT_FILENO).width; width > 0) {
    style.width = width;
    style.unicode = IsUtf8();
  }
  return style;
}

Canvas::Cell* Canvas::At(int column, int row) {
  if (column < 0 || column >= columns_ || row < 0 || row >= rows_) return nullptr;
  return &cells_[static_cast<size_t>(row) * static_cast<size_t>(columns_) +
                 static_cast<size_t>(column)];
}

void Canvas::Dot(int x, int y) {
  // Bits of the dots of a braille character, by column and row.
  static constexpr unsigned kBits[2][kDotsPerRow] = {{1, 2, 4, 64}, {8, 16, 32, 128}};
  if (x < 0 || y < 0) return;
  Cell* const cell = unicode_ ? At(x / 2, y / kDotsPerRow) : At(x, y);
  if (cell != nullptr) cell->dots |= unicode_ ? kBits[x % 2][y % kDotsPerRow] : 1;
}

void Canvas::Shade(int column, int row) {
  if (Cell* const cell = At(column, row)) cell->shaded = true;
}

void Canvas::Rule(int column) {
  for (int row = 0; row < rows_; ++row) {
    if (Cell* const cell = At(column, row)) cell->ruled = true;
  }
}

void Canvas::Mark(int column, int row, char symbol) {
  Cell* const cell = At(column, row);
  if (cell != nullptr && cell->mark == '\0') cell->mark = symbol;
}

std::string Canvas::Line(int row) const {
  std::string line;
  size_t end = 0;
  for (int column = 0; column < columns_; ++column) {
    const Cell& cell = cells_[static_cast<size_t>(row) * static_cast<size_t>(columns_) +
                              static_cast<size_t>(column)];
    if (cell.mark != '\0') {
      line += cell.mark;
    } else if (cell.dots != 0) {
      line += unicode_ ? BrailleText(cell.dots) : "*";
    } else if (cell.shaded) {
      line += unicode_ ? "\u2591" : ":";
    } else if (cell.ruled) {
      line += unicode_ ? "\u250a" : "|";
    } else {
      line += ' ';
      continue;
    }
    end = line.size();
  }
  return line.substr(0, end);
}

}  // namespace assay::cli
