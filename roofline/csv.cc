#include "roofline/csv.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "common/text.h"

namespace assay {

std::vector<CsvRow> ParseCsv(const char* csv) {
  std::vector<CsvRow> rows;
  std::vector<std::string_view> header;
  for (const std::string_view line : Split(csv, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const auto fields = Split(line, ',', header.empty() ? SIZE_MAX : header.size());
    if (header.empty()) {
      header = fields;
      continue;
    }
    CsvRow row;
    for (size_t i = 0; i < fields.size(); ++i) row.emplace(header[i], fields[i]);
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
