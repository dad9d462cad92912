#include "cli/report/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/text.h"

namespace assay::cli {

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : Sanitize(std::string(text))) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&apos;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

HtmlCell::HtmlCell(std::string cell_text, double number)
    : text(std::move(cell_text)), sort_value(fmt::format("{}", number)), is_number(true) {}

std::string HtmlTable::Html() const {
  std::vector<bool> numbers(heads_.size(), false);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) numbers[i] = numbers[i] || row[i].is_number;
  }
  std::string html = fmt::format(
      "<div class=\"table-holder\"><table class=\"table{}\">\n<thead><tr>", plain_ ? " plain" : "");
  for (size_t i = 0; i < heads_.size(); ++i) {
    html += fmt::format("<th scope=\"col\"{}>{}</th>", numbers[i] ? " class=\"number\"" : "",
                        EscapeHtml(heads_[i]));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows_) {
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      const HtmlCell& cell = row[i];
      html += numbers[i] ? "<td class=\"number\"" : "<td";
      if (!cell.sort_value.empty()) html += " data-value=\"" + EscapeHtml(cell.sort_value) + "\"";
      html += ">";
      const std::string text = EscapeHtml(cell.text);
      html +=
          cell.tone.empty() ? text : "<span class=\"badge " + cell.tone + "\">" + text + "</span>";
      html += "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace assay::cli
