#include "wire/field.h"

#include <google/protobuf/timestamp.pb.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "common/text.h"
#include "model/filter.h"
#include "wire/timestamps.h"

namespace assay::schema {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string NumberText(double number) {
  char text[40];
  const auto [end, error] = std::to_chars(text, text + sizeof text, number);
  return std::string(text, end);
}

FieldValue MapOf(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  std::map<std::string, std::string> sorted;
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
    const auto text = [&](int number) {
      return entry.GetReflection()->GetString(entry,
                                              entry.GetDescriptor()->FindFieldByNumber(number));
    };
    sorted[text(1)] = text(2);
  }
  return sorted.empty() ? FieldValue() : FieldValue(sorted);
}

// Reads a field that is not a list.
FieldValue Scalar(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  if (field.has_presence() && !reflection.HasField(message, &field)) return {};
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return TextOrNull(reflection.GetString(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return NumberOrNull(reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return TextOrNull(EnumWord(*field.enum_type(), reflection.GetEnumValue(message, &field)));
    default:
      return TextOrNull(TimeText(
          static_cast<const google::protobuf::Timestamp&>(reflection.GetMessage(message, &field))));
  }
}

// Adds the values at `path` that are not null.
void CollectValues(const Message& message, std::string_view path, FieldValue& values) {
  const size_t dot = path.find('.');
  const FieldDescriptor& field =
      *message.GetDescriptor()->FindFieldByName(std::string(path.substr(0, dot)));
  const auto& reflection = *message.GetReflection();
  const int count = field.is_repeated() ? reflection.FieldSize(message, &field) : 0;
  if (dot != std::string_view::npos) {
    const std::string_view rest = path.substr(dot + 1);
    for (int i = 0; i < count; ++i) {
      CollectValues(reflection.GetRepeatedMessage(message, &field, i), rest, values);
    }
    if (!field.is_repeated() && reflection.HasField(message, &field)) {
      CollectValues(reflection.GetMessage(message, &field), rest, values);
    }
  } else if (!field.is_repeated() || field.is_map()) {
    FieldValue value = field.is_map() ? MapOf(message, field) : Scalar(message, field);
    if (!value.is_null()) values.push_back(std::move(value));
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
    for (double number : reflection.GetRepeatedField<double>(message, &field)) {
      values.push_back(number);
    }
  } else {
    for (int i = 0; i < count; ++i) {
      values.push_back(reflection.GetRepeatedString(message, &field, i));
    }
  }
}

}  // namespace

FieldValue ReadPath(const Message& message, std::string_view path, FieldType type) {
  FieldValue values;
  CollectValues(message, path, values);
  const bool list = type == FieldType::kTexts || type == FieldType::kNumbers;
  return list || values.is_null() ? values : values.front();
}

std::string EnumWord(const google::protobuf::EnumDescriptor& type, int number) {
  static constexpr std::string_view kUnspecified = "UNSPECIFIED";
  const auto* const value = type.FindValueByNumber(number);
  if (number == 0 || value == nullptr) return "";
  const size_t prefix = type.FindValueByNumber(0)->name().size() - kUnspecified.size();
  return Lower(value->name().substr(prefix));
}

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

}  // namespace assay::schema
