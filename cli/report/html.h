// Builds HTML from text that may be hostile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

// Escapes `text` for use in HTML and XML elements and attributes. Replaces control characters,
// which are not allowed in XML.
std::string EscapeHtml(std::string_view text);

// A cell of an HtmlTable.
struct HtmlCell {
  HtmlCell(std::string cell_text) : text(std::move(cell_text)) {}  // NOLINT: implicit
  HtmlCell(const char* cell_text) : text(cell_text) {}             // NOLINT: implicit
  // A number that is shown as `cell_text` and sorted by `number`.
  HtmlCell(std::string cell_text, double number);

  std::string text;
  std::string sort_value;  // Empty: sorted by the text.
  bool is_number = false;
  std::string tone;  // "good", "bad", "warn" or "".
};

// A table with a heading row. Columns of numbers are aligned to the right.
class HtmlTable {
 public:
  // A plain table is neither sorted nor folded.
  explicit HtmlTable(std::vector<std::string> heads, bool plain = false)
      : heads_(std::move(heads)), plain_(plain) {}
  void Add(std::vector<HtmlCell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  std::string Html() const;

 private:
  std::vector<std::string> heads_;
  bool plain_;
  std::vector<std::vector<HtmlCell>> rows_;
};

}  // namespace assay::cli
