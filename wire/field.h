// Describes the fields of a record, such as a result or a node. Filters, CSV, JSON, SQL and the
// reference documentation are all generated from tables of these descriptions, so every field has
// the same name everywhere.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace assay::schema {

enum class FieldType {
  kText,             // Ordered as text.
  kVersion,          // Digits and dots, ordered part by part.
  kNameWithVersion,  // "6.8.0-45-generic": has no order, because as text 6.8 comes after 6.11.
  kNumber,
  kBoolean,
  kTime,     // RFC 3339 in UTC.
  kTexts,    // A list of texts. A filter holds if it holds for one of them.
  kMap,      // Texts by name. A filter names one of them: parameters.dtype.
  kNumbers,  // A list of numbers. JSON only.
  kObjects,  // A list of objects. JSON only.
};

// The database table that contains the field's value, in a column named ColumnName(name).
enum class StoredIn {
  kNowhere,      // Filters cannot use the field.
  kResult,       // Differs from result to result.
  kSeries,       // The same for all results of a series.
  kEnvironment,  // The same for all results of an environment.
  kOrigin,       // The same for all results of the same nodes and GPUs, described alike.
  kDerived,      // result_view computes it from columns of other names.
};

// The value of a field. It is null if the subject has no value for this field.
using FieldValue = nlohmann::ordered_json;

// Returns the value at a dotted path of message fields, such as "environment.gpu_model". Enums
// become words, times become RFC 3339 text, and maps are sorted by key. Returns null for empty
// texts, enum value 0, absent optional fields, and all fields of absent messages. If a field on the
// path is repeated, returns only the first value that is not null, unless `type` is a list.
FieldValue ReadPath(const google::protobuf::Message& message, std::string_view path,
                    FieldType type);

template <typename Subject>
struct Field {
  std::string_view name;  // A dot starts a nested JSON object: "gpu.model".
  FieldType type = FieldType::kText;
  std::string_view unit;  // Empty if there is none.
  std::string_view description;
  std::string_view path;  // Where a Subject has the value, see ReadPath.
  StoredIn stored_in = StoredIn::kNowhere;
  // An example of an operator and value in a filter on this field, such as "= H200". Empty if
  // filters cannot use the field.
  std::string_view example = "";
  // All values that a text field can have. If empty, any text is allowed.
  std::vector<std::string> words = {};
  // Computes a value that is not stored at a path. If null, the value at `path` is used.
  FieldValue (*read)(const Subject& subject) = nullptr;

  FieldValue Value(const Subject& subject) const {
    return read != nullptr ? read(subject) : ReadPath(subject, path, type);
  }
};

// Returns the word for an enum value, such as "ok" for CASE_OUTCOME_OK, or an empty string.
std::string EnumWord(const google::protobuf::EnumDescriptor& type, int number);

// Returns the name of a field's database column, such as "gpu_model" for "gpu.model".
std::string ColumnName(std::string_view field);

// Formats a value for CSV. Lists and maps are joined by semicolons, and null becomes empty.
std::string FieldText(const FieldValue& value);

// Converts a value to the form that assay::Matches, which evaluates filters, can compare: one
// string per list element, with numbers formatted by FilterNumber.
std::vector<std::string> FilterValues(const FieldValue& value);

// Returns the text as a value, or null if it is empty.
FieldValue TextOrNull(const std::string& text);
FieldValue NumberOrNull(double number);  // Null for NaN and infinities, which JSON lacks.

// Adds `value` to `object` under a dotted name. Does nothing for null.
void AddNested(FieldValue& object, std::string_view name, const FieldValue& value);

}  // namespace assay::schema
