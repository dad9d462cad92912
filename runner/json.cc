#include "runner/json.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace assay {

std::string JsonString(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (c == '\n') {
      json += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      json += escape;
    } else {
      json += c;
    }
  }
  return json + "\"";
}

std::string JsonNumber(double number) {
  if (!std::isfinite(number)) return "null";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number);
  return std::string(text, end.ptr);
}

std::string JsonArray(const std::vector<std::string>& values) {
  std::string json = "[";
  for (const std::string& value : values) {
    if (json.size() > 1) json += ',';
    json += value;
  }
  return json + "]";
}

JsonObject& JsonObject::Add(std::string_view name, const std::vector<double>& numbers) {
  std::vector<std::string> values;
  for (const double number : numbers) values.push_back(JsonNumber(number));
  return AddRaw(name, JsonArray(values));
}

JsonObject& JsonObject::Add(std::string_view name, const std::vector<std::string>& texts) {
  std::vector<std::string> values;
  for (const std::string& text : texts) values.push_back(JsonString(text));
  return AddRaw(name, JsonArray(values));
}

JsonObject& JsonObject::AddRaw(std::string_view name, const std::string& json) {
  if (!members_.empty()) members_ += ',';
  members_ += JsonString(name) + ":" + json;
  return *this;
}

}  // namespace assay
