#include "cli/views/output.h"

#include <google/protobuf/util/json_util.h>

#include <charconv>

#include "common/text.h"

namespace assay::cli {
namespace {

bool IsNumber(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

// Returns the text as a CSV cell that is safe to display. Replaces control characters, which a
// terminal would interpret. If a spreadsheet would run the text as a formula, prepends an
// apostrophe, so that the spreadsheet displays the text instead.
std::string SafeCell(const std::string& text) {
  const bool formula =
      !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
  return (formula && !IsNumber(text) ? "'" : "") + Sanitize(text);
}

}  // namespace

std::string CsvRecord(const std::vector<std::string>& fields) {
  std::string record;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) record += ',';
    const std::string field = SafeCell(fields[i]);
    if (field.find_first_of(",\"") == std::string::npos) {
      record += field;
      continue;
    }
    record += '"';
    for (const char c : field) {
      if (c == '"') record += '"';
      record += c;
    }
    record += '"';
  }
  return record + "\r\n";
}

std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  // The conversion fails only for values that JSON cannot represent, such as a timestamp after the
  // year 9999. In that case, return a JSON object that describes the error.
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) return R"({"error":"the message cannot be written as JSON"})";
  return json;
}

std::string ToJsonWith(const google::protobuf::Message& message, std::string_view name,
                       const std::string& json) {
  std::string object = ToJson(message);
  object.pop_back();  // "}"
  if (object.size() > 1) object += ',';
  return object.append("\"").append(name).append("\":").append(json).append("}");
}

std::string JsonArray::AddText(const std::string& json) {
  const std::string separator = empty_ ? "[\n" : ",\n";
  empty_ = false;
  return separator + json;
}

void Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void PrintError(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace assay::cli
