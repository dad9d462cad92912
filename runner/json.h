// Writes JSON; the runner's own, since it builds without any library.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// A JSON string with its quotes; `text` is UTF-8.
std::string JsonString(std::string_view text);

// The shortest text that reads back as `number`; null for NaN and infinities.
std::string JsonNumber(double number);

// An object under construction. Absent values are left out.
class JsonObject {
 public:
  JsonObject& Add(std::string_view name, std::string_view text) {
    return AddRaw(name, JsonString(text));
  }
  JsonObject& Add(std::string_view name, const char* text) {
    return Add(name, std::string_view(text));
  }
  JsonObject& Add(std::string_view name, double number) { return AddRaw(name, JsonNumber(number)); }
  JsonObject& Add(std::string_view name, bool value) {
    return AddRaw(name, value ? "true" : "false");
  }
  JsonObject& Add(std::string_view name, const std::vector<double>& numbers);
  JsonObject& Add(std::string_view name, const std::vector<std::string>& texts);
  JsonObject& Add(std::string_view name, const JsonObject& object) {
    return AddRaw(name, object.ToString());
  }
  template <typename T>
  JsonObject& Add(std::string_view name, const std::optional<T>& value) {
    return value ? Add(name, *value) : *this;
  }
  // `json` is JSON already.
  JsonObject& AddRaw(std::string_view name, const std::string& json);

  std::string ToString() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

// "[a,b]" of values that are JSON already.
std::string JsonArray(const std::vector<std::string>& values);

}  // namespace assay
