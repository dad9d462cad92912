// What results are exported with, beside the fields that a filter takes.
#pragma once

#include <optional>
#include <string_view>

namespace assay::storage {

// The field of results that a filter takes for `column` of their CSV, where it has another name
// ("efficiency" for "efficiency_spec"); empty for a column that no filter takes. Nullopt for
// what is no column, or one that is called as its field or a parameter is.
std::optional<std::string_view> FieldOfCsvColumn(std::string_view column);

}  // namespace assay::storage
