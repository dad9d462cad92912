#include "cli/views/message_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/timestamp.pb.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/views/format.h"
#include "wire/field.h"

namespace assay::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Json = nlohmann::ordered_json;

Json ObjectOf(const Message& message);

Json MessageValue(const Message& message) {
  if (message.GetDescriptor() == google::protobuf::Timestamp::descriptor()) {
    return FormatTimeExact(static_cast<const google::protobuf::Timestamp&>(message));
  }
  return ObjectOf(message);
}

Json NumberValue(double number) { return std::isfinite(number) ? Json(number) : Json(); }

Json EnumValue(const FieldDescriptor& field, int number) {
  const std::string word = schema::EnumWord(*field.enum_type(), number);
  return word.empty() ? Json() : Json(word);
}

Json SingleValue(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.GetString(message, &field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return NumberValue(reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumValue(field, reflection.GetEnumValue(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MessageValue(reflection.GetMessage(message, &field));
    default:
      return {};
  }
}

Json ElementValue(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.GetRepeatedString(message, &field, index);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return NumberValue(reflection.GetRepeatedDouble(message, &field, index));
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetRepeatedInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MessageValue(reflection.GetRepeatedMessage(message, &field, index));
    default:
      return {};
  }
}

Json ListValue(const Message& message, const FieldDescriptor& field) {
  const int count = message.GetReflection()->FieldSize(message, &field);
  if (!field.is_map()) {
    Json list = Json::array();
    for (int i = 0; i < count; ++i) list.push_back(ElementValue(message, field, i));
    return list;
  }
  std::map<std::string, Json> sorted;
  for (int i = 0; i < count; ++i) {
    const Message& entry = message.GetReflection()->GetRepeatedMessage(message, &field, i);
    const auto& type = *entry.GetDescriptor();
    sorted[entry.GetReflection()->GetString(entry, type.map_key())] =
        SingleValue(entry, *type.map_value());
  }
  Json object = Json::object();
  for (auto& [key, value] : sorted) object[key] = std::move(value);
  return object;
}

Json ObjectOf(const Message& message) {
  Json object = Json::object();
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const bool absent = field.has_presence() && !message.GetReflection()->HasField(message, &field);
    if (absent) continue;
    Json value = field.is_repeated() ? ListValue(message, field) : SingleValue(message, field);
    if (!value.is_null()) object[field.name()] = std::move(value);
  }
  return object;
}

}  // namespace

std::string MessageJson(const Message& message) {
  return ObjectOf(message).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace assay::cli
