#include "wire/field.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "model/filter.h"

namespace assay::schema {
namespace {

std::string NumberText(double number) {
  char text[40];
  const auto [end, error] = std::to_chars(text, text + sizeof text, number);
  return std::string(text, end);
}

std::string_view TypeName(FieldType type) {
  switch (type) {
    case FieldType::kText:
      return "text";
    case FieldType::kVersion:
      return "version";
    case FieldType::kNameWithVersion:
      return "text without order";
    case FieldType::kNumber:
      return "number";
    case FieldType::kBoolean:
      return "true or false";
    case FieldType::kTime:
      return "time";
    case FieldType::kTexts:
      return "list of texts";
    case FieldType::kMap:
      return "texts by name";
    case FieldType::kNumbers:
      return "list of numbers, JSON only";
    case FieldType::kObjects:
      return "list of objects, JSON only";
  }
  return "";
}

}  // namespace

std::string ColumnName(std::string_view field) {
  std::string column(field);
  std::replace(column.begin(), column.end(), '.', '_');
  return column;
}

std::string FieldText(const FieldValue& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return NumberText(value.get<double>());
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [key, element] : value.items()) {
    if (!text.empty()) text += ';';
    if (value.is_object()) text += key + "=";
    text += FieldText(element);
  }
  return text;
}

std::vector<std::string> FilterValues(const FieldValue& value) {
  if (value.is_null()) return {};
  if (value.is_number()) return {FilterNumber(value.get<double>())};
  if (!value.is_array()) return {FieldText(value)};
  std::vector<std::string> values;
  for (const FieldValue& element : value) values.push_back(FieldText(element));
  return values;
}

FieldValue TextOrNull(const std::string& text) {
  return text.empty() ? FieldValue() : FieldValue(text);
}

FieldValue NumberOrNull(double number) {
  return std::isfinite(number) ? FieldValue(number) : FieldValue();
}

void AddNested(FieldValue& object, std::string_view name, const FieldValue& value) {
  if (value.is_null()) return;
  FieldValue* parent = &object;
  for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
    parent = &(*parent)[std::string(name.substr(0, dot))];
    name.remove_prefix(dot + 1);
  }
  (*parent)[std::string(name)] = value;
}

std::string FieldReferenceHead() {
  return "| field | type | unit | description | example |\n|---|---|---|---|---|\n";
}

std::string FieldReferenceLine(std::string_view name, FieldType type, std::string_view unit,
                               std::string_view description, std::string_view example,
                               const std::vector<std::string>& words) {
  std::string line = "| `" + std::string(name) + "` | " + std::string(TypeName(type)) + " | " +
                     std::string(unit) + " | " + std::string(description);
  for (size_t i = 0; i < words.size(); ++i) line += (i == 0 ? ": `" : ", `") + words[i] + "`";
  line += " | ";
  if (!example.empty()) {
    line += type == FieldType::kMap ? "`" + std::string(example) + "`"
                                    : "`" + std::string(name) + " " + std::string(example) + "`";
  }
  return line + " |\n";
}

}  // namespace assay::schema
