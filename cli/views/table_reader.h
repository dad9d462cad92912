// Reads the columns of TabulateResults.
#pragma once

#include <cmath>
#include <map>
#include <string>

#include "assay/v1/result_service.pb.h"

namespace assay::cli {

// Reads values of a table by the names of their fields. The table must outlive the reader.
class TableReader {
 public:
  explicit TableReader(const v1::TabulateResultsResponse& table) {
    for (const v1::ResultColumn& column : table.columns()) columns_[column.field()] = &column;
  }

  // Returns "" if there is none.
  std::string Text(const std::string& field, int row) const {
    const auto found = columns_.find(field);
    if (found == columns_.end() || row >= found->second->indices_size()) return "";
    const int index = found->second->indices(row);
    return index < 0 || index >= found->second->texts_size() ? "" : found->second->texts(index);
  }
  // Returns NaN if there is none.
  double Number(const std::string& field, int row) const {
    const auto found = columns_.find(field);
    if (found == columns_.end() || row >= found->second->numbers_size()) return std::nan("");
    return found->second->numbers(row);
  }

 private:
  std::map<std::string, const v1::ResultColumn*> columns_;
};

}  // namespace assay::cli
