// The tables that are compiled into the program.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// One line by column name.
using CsvRow = std::map<std::string, std::string>;

// Rows by column name. The first line that is no comment is the header; the last
// column takes what is left of its line, commas too.
std::vector<CsvRow> ParseCsv(const char* csv);

// Absent where the field is empty.
std::optional<double> CsvNumber(const CsvRow& row, const char* column, double scale = 1);

}  // namespace assay
