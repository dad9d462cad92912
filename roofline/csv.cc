#include "roofline/csv.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

namespace assay {

std::vector<std::string> Split(std::string_view text, char separator, size_t most) {
  std::vector<std::string> parts;
  while (parts.size() + 1 < most) {
    const size_t end = text.find(separator);
    if (end == std::string_view::npos) break;
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.emplace_back(text);
  return parts;
}

std::vector<CsvRow> ParseCsv(const char* csv) {
  std::vector<CsvRow> rows;
  std::vector<std::string> header;
  for (const std::string& line : Split(csv, '\n', SIZE_MAX)) {
    if (line.empty() || line[0] == '#') continue;
    const auto fields = Split(line, ',', header.empty() ? SIZE_MAX : header.size());
    if (header.empty()) {
      header = fields;
      continue;
    }
    CsvRow row;
    for (size_t i = 0; i < fields.size(); ++i) row[header[i]] = fields[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<double> CsvNumber(const CsvRow& row, const char* column, double scale) {
  const auto found = row.find(column);
  if (found == row.end() || found->second.empty()) return std::nullopt;
  return std::strtod(found->second.c_str(), nullptr) * scale;
}

}  // namespace assay
