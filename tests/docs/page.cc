#include "tests/docs/page.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace assay::testing_support {
namespace {

std::string Row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) {
    row += ' ';
    for (const char c : cell) {
      if (c == '|') row += '\\';
      row += c == '\n' ? ' ' : c;
    }
    row += " |";
  }
  return row + "\n";
}

// Shows only the first line that differs, because a whole page would hide it.
std::string FirstDifference(const std::string& golden, const std::string& now) {
  const auto [at, other] = std::mismatch(golden.begin(), golden.end(), now.begin(), now.end());
  const auto line = [](const std::string& text, std::string::const_iterator where) {
    const auto begin = std::find(std::make_reverse_iterator(where), text.rend(), '\n').base();
    return std::string(begin, std::find(where, text.end(), '\n'));
  };
  return "In the page: " + line(golden, at) + "\nFrom the code: " + line(now, other) + "\n";
}

}  // namespace

std::string MarkdownTable(const std::vector<std::string>& header,
                          const std::vector<std::vector<std::string>>& rows) {
  std::string table = Row(header) + "|";
  for (size_t i = 0; i < header.size(); ++i) table += "---|";
  table += "\n";
  for (const std::vector<std::string>& cells : rows) table += Row(cells);
  return table;
}

std::string CodeSpan(std::string_view text) {
  return text.empty() ? "" : "`" + std::string(text) + "`";
}

::testing::AssertionResult MatchesBlock(const char* /*page_expression*/,
                                        const char* /*block_expression*/,
                                        const char* /*text_expression*/, std::string_view page,
                                        std::string_view block, const std::string& text) {
  const std::string path = std::string(ASSAY_SOURCE "/").append(page);
  std::ifstream file(path);
  std::string document{std::istreambuf_iterator<char>(file), {}};
  const std::string begin = "<!-- generated: " + std::string(block) + " -->\n";
  const size_t from = document.find(begin);
  const size_t to = document.find("<!-- end: " + std::string(block) + " -->", from);
  if (from == std::string::npos || to == std::string::npos) {
    return ::testing::AssertionFailure() << page << " has no block \"" << block << "\"";
  }
  const size_t start = from + begin.size();
  const std::string golden = document.substr(start, to - start);
  const std::string wanted = "\n" + text + "\n";
  if (golden == wanted) return ::testing::AssertionSuccess();
  if (std::getenv("ASSAY_ACCEPT_WORDING") != nullptr) {
    std::ofstream(path, std::ios::trunc) << document.replace(start, to - start, wanted);
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << page << " does not have what the code prints; ./dev golden writes it.\n"
         << FirstDifference(golden, wanted);
}

}  // namespace assay::testing_support
