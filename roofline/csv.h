// Reads the tables that are compiled into the program.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// The fields of one line, by column name.
using CsvRow = std::map<std::string, std::string>;

// Parses a CSV table whose header is the first line that is not a comment. The last column holds
// the rest of the line, including commas.
std::vector<CsvRow> ParseCsv(const char* csv);

// Returns the number in `column` times `scale`, or nullopt if the field is empty.
std::optional<double> CsvNumber(const CsvRow& row, const char* column, double scale = 1);

}  // namespace assay
