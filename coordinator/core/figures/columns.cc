// Columns of results, and the fields that filters may use.
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/text.h"
#include "coordinator/core/figures/figures.h"
#include "coordinator/core/figures/visit.h"
#include "storage/result_order.h"
#include "wire/result_filter.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using schema::FieldType;
using schema::FieldValue;
using schema::NamedField;

constexpr int kMostRows = 10'000;
constexpr int kMostColumns = 40;
constexpr int kMostListedFields = 20;
constexpr int kMostValues = 1000;

// Returns the field of a column, which may be one that filters cannot use.
Result<NamedField> ColumnField(const std::string& name) {
  const schema::ResultField* const field = schema::FindResultField(name);
  if (field == nullptr) return schema::FindFilterableField("fields", name);
  if (field->type != FieldType::kNumbers && field->type != FieldType::kObjects) {
    return NamedField{field, ""};
  }
  return InvalidArgument("fields: `" + name + "` is a list, which no column can have",
                         Reason::kUnknownField)
      .WithHint("GetResult returns it for one result");
}

bool HasNumbers(const NamedField& named) {
  return named.field->type == FieldType::kNumber || named.field->type == FieldType::kTime;
}

// Collects the values of one column.
class ColumnMaker {
 public:
  explicit ColumnMaker(NamedField named, v1::ResultColumn& column)
      : named_(std::move(named)), column_(column) {}

  void Add(const v1::StoredResult& result) {
    FieldValue value = named_.field->Value(result);
    if (!named_.key.empty() && !value.is_null()) {
      value = value.contains(named_.key) ? value[named_.key] : FieldValue();
    }
    if (HasNumbers(named_)) {
      column_.add_numbers(NumberOf(value));
    } else {
      column_.add_indices(value.is_null() ? -1 : IndexOf(TextOf(value)));
    }
  }

 private:
  double NumberOf(const FieldValue& value) const {
    if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (named_.field->type == FieldType::kNumber) return value.get<double>();
    const Result<WallTime> time = schema::ParseTime(value.get<std::string>());
    return time.ok() ? schema::SecondsSince1970(*time) : std::numeric_limits<double>::quiet_NaN();
  }

  static std::string TextOf(const FieldValue& value) {
    return value.is_array() ? Join(schema::FilterValues(value), "+") : schema::FieldText(value);
  }

  int IndexOf(std::string text) {
    const auto [known, added] = indices_.try_emplace(std::move(text), column_.texts_size());
    if (added) column_.add_texts(known->first);
    return known->second;
  }

  const NamedField named_;
  v1::ResultColumn& column_;
  std::unordered_map<std::string, int> indices_;  // Of the column's texts.
};

// Returns the unit of a field. Returns "" if the unit varies between results. In that case, the
// schema names, in backquotes, another field that contains the unit.
std::string UnitOf(const schema::ResultField& field) {
  return field.unit.starts_with('`') ? "" : std::string(field.unit);
}

const char* TypeWord(FieldType type) {
  switch (type) {
    case FieldType::kNumber:
      return "number";
    case FieldType::kBoolean:
      return "boolean";
    case FieldType::kTime:
      return "time";
    case FieldType::kMap:
      return "map";
    default:
      return "text";
  }
}

v1::Facet FacetOf(std::string_view name, const NamedField& named) {
  v1::Facet facet;
  facet.set_field(std::string(name));
  facet.set_description(std::string(named.field->description));
  facet.set_unit(UnitOf(*named.field));
  facet.set_type(named.key.empty() ? TypeWord(named.field->type) : "text");
  if (named.key.empty()) facet.set_example(std::string(named.field->example));
  return facet;
}

}  // namespace

Result<v1::TabulateResultsResponse> Figures::Tabulate(
    const v1::TabulateResultsRequest& request) const {
  constexpr int kNormalRows = 1000;
  ASSAY_ASSIGN_OR_RETURN(const int limit, LimitOf(request.limit(), kNormalRows, kMostRows));
  if (request.fields().empty() || request.fields_size() > kMostColumns) {
    return InvalidArgument("fields: " + Counted(request.fields_size(), "field") +
                           " given; from 1 to 40 are possible");
  }
  v1::TabulateResultsResponse response;
  response.mutable_columns()->Reserve(request.fields_size());
  std::vector<ColumnMaker> columns;
  for (const std::string& name : request.fields()) {
    ASSAY_ASSIGN_OR_RETURN(NamedField named, ColumnField(name));
    v1::ResultColumn& column = *response.add_columns();
    column.set_field(name);
    column.set_unit(UnitOf(*named.field));
    columns.emplace_back(std::move(named), column);
  }
  const auto add = [&](const v1::StoredResult& result) {
    for (ColumnMaker& column : columns) column.Add(result);
    response.set_row_count(response.row_count() + 1);
    return true;
  };
  ASSAY_ASSIGN_OR_RETURN(const int remaining, VisitResults(environment_, request.filter(),
                                                           request.order_by(), limit, add));
  response.set_remaining_count(remaining);
  return response;
}

Result<v1::ListFacetsResponse> Figures::ListFacets(const v1::ListFacetsRequest& request) const {
  constexpr int kNormalValues = 100;
  ASSAY_ASSIGN_OR_RETURN(const int limit, LimitOf(request.limit(), kNormalValues, kMostValues));
  if (request.fields_size() > kMostListedFields) {
    return InvalidArgument("fields: " + Counted(request.fields_size(), "field") +
                           " given; at most 20 are possible");
  }
  v1::ListFacetsResponse response;
  std::unordered_map<std::string, int> facets;  // Indices by field.
  for (const schema::ResultField& field : schema::ResultFields()) {
    if (field.example.empty()) continue;  // Filters cannot use it.
    facets.emplace(field.name, response.facets_size());
    *response.add_facets() = FacetOf(field.name, {&field, ""});
  }
  for (const std::string& name : request.fields()) {
    ASSAY_ASSIGN_OR_RETURN(const NamedField named, schema::FindFilterableField("fields", name));
    // Members of maps, such as "parameters.dtype", are no facets unless they are asked for.
    const auto [known, added] = facets.try_emplace(name, response.facets_size());
    if (added) *response.add_facets() = FacetOf(name, named);
    v1::Facet& facet = *response.mutable_facets(known->second);
    facet.clear_values();
    if (!storage::HasListedValues(named)) {
      const std::set<std::string> words(named.field->words.begin(), named.field->words.end());
      facet.mutable_values()->Assign(words.begin(), words.end());
      continue;
    }
    ASSAY_ASSIGN_OR_RETURN(storage::FieldValues found,
                           environment_.results.ListValues(name, limit, request.simulated()));
    facet.mutable_values()->Assign(found.values.begin(), found.values.end());
    facet.set_truncated(found.truncated);
  }
  return response;
}

}  // namespace assay::coordinator
