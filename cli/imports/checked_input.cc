#include "cli/imports/checked_input.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "cli/imports/imports.h"
#include "common/text.h"

namespace assay::imports {
namespace {

constexpr size_t kMaxLines = 200'000;
constexpr double kMaxNumber = 1e15;

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// The parts between tabs: programs print tabs, and IsPlainText refuses them.
bool IsPlainLine(std::string_view line) {
  while (!line.empty()) {
    const size_t end = std::min(line.find('\t'), line.size());
    if (end > 0 && !IsPlainText(line.substr(0, end))) return false;
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return true;
}

std::string LineAt(std::string_view text, size_t byte) {
  const auto newlines = std::count(text.begin(), text.begin() + std::min(byte, text.size()), '\n');
  return "line " + std::to_string(newlines + 1);
}

}  // namespace

Status BadFile(const std::string& where, const std::string& what) {
  return InvalidArgument(where + ": " + what, Reason::kBadFile);
}

Result<std::vector<std::string_view>> LinesOf(std::string_view text) {
  if (text.size() > kMaxFileBytes) return BadFile("the file", "larger than 16 MiB");
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    if (lines.size() > kMaxLines) return BadFile("the file", "longer than 200000 lines");
    if (!IsPlainLine(line)) {
      return BadFile("line " + std::to_string(lines.size()),
                     "expected text in UTF-8 without control characters");
    }
  }
  return lines;
}

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  for (const char* at = line.begin(); at != line.end();) {
    const char* const begin = std::find_if_not(at, line.end(), IsBlank);
    at = std::find_if(begin, line.end(), IsBlank);
    if (at != begin) words.emplace_back(begin, static_cast<size_t>(at - begin));
  }
  return words;
}

std::optional<Printed> ParseNumber(std::string_view word) {
  Printed number;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number.value);
  if (error != std::errc() || stop != end || !std::isfinite(number.value) || number.value < 0 ||
      number.value > kMaxNumber) {
    return std::nullopt;
  }
  const size_t mantissa = std::min(word.find_first_of("eE"), word.size());
  int exponent = 0;
  if (mantissa < word.size()) {
    std::string_view digits = word.substr(mantissa + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  }
  const size_t point = std::min(word.find('.'), mantissa);
  const auto decimals = static_cast<int>(mantissa - std::min(point + 1, mantissa));
  number.unit = std::pow(10.0, std::clamp(exponent, -300, 300) - decimals);
  return number;
}

std::optional<int64_t> ParseInteger(std::string_view word, int64_t least, int64_t most) {
  int64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || stop != end || number < least || number > most) return std::nullopt;
  return number;
}

Result<nlohmann::json> ParseJson(std::string_view text) {
  ASSAY_RETURN_IF_ERROR(LinesOf(text).status());
  try {
    nlohmann::json json = nlohmann::json::parse(text.begin(), text.end());
    if (!json.is_object()) return BadFile("line 1", "expected a JSON object");
    return json;
  } catch (const nlohmann::json::exception& exception) {
    const auto* const error = dynamic_cast<const nlohmann::json::parse_error*>(&exception);
    const size_t byte = error == nullptr || error->byte == 0 ? 0 : error->byte - 1;
    return BadFile(LineAt(text, byte), byte >= text.size()
                                           ? "the JSON ends here; the file was cut short"
                                           : "not valid JSON");
  }
}

JsonValue JsonValue::At(const nlohmann::json& json, std::string path) const {
  JsonValue value(json, *status_);
  value.path_ = std::move(path);
  return value;
}

void JsonValue::Fail(const std::string& what) const {
  if (status_->ok()) *status_ = BadFile(path_.empty() ? "the file" : path_, what);
}

JsonValue JsonValue::Member(const std::string& name) const {
  static const nlohmann::json kNull;
  if (name.empty()) return *this;
  const std::string path = path_.empty() ? name : path_ + "." + name;
  if (Has(name)) return At((*json_)[name], path);
  At(kNull, path).Fail("missing");
  return At(kNull, path);
}

std::vector<JsonValue> JsonValue::Array(const std::string& name) const {
  const JsonValue array = Member(name);
  if (!array.json_->is_array()) {
    array.Fail("must be an array");
    return {};
  }
  std::vector<JsonValue> items;
  for (size_t i = 0; i < array.json_->size(); ++i) {
    items.push_back(array.At((*array.json_)[i], array.path_ + "[" + std::to_string(i) + "]"));
  }
  return items;
}

std::string JsonValue::Spelled(const std::string& wanted) const {
  if (json_->is_number()) return json_->dump();
  const std::vector<std::string_view> words = json_->is_string()
                                                  ? WordsOf(json_->get_ref<const std::string&>())
                                                  : std::vector<std::string_view>();
  if (words.size() == 1) return std::string(words[0]);
  Fail("must be " + wanted);
  return "";
}

double JsonValue::Number(const std::string& name) const {
  const JsonValue value = Member(name);
  const std::string wanted = "a number from 0 to 1e15";
  const std::optional<Printed> number = ParseNumber(value.Spelled(wanted));
  if (!number) value.Fail("must be " + wanted);
  return number ? number->value : 0;
}

int64_t JsonValue::Integer(const std::string& name, int64_t least, int64_t most) const {
  const JsonValue value = Member(name);
  const std::string wanted = "a whole number from " + std::to_string(least) + " to " +
                             (most == kMaxInteger ? "2^53" : std::to_string(most));
  const std::optional<int64_t> number = ParseInteger(value.Spelled(wanted), least, most);
  if (!number) value.Fail("must be " + wanted);
  return number.value_or(least);
}

std::string JsonValue::Text(const std::string& name) const {
  constexpr size_t kMost = 200;
  const JsonValue value = Member(name);
  if (value.json_->is_string()) {
    const auto& text = value.json_->get_ref<const std::string&>();
    if (text.size() <= kMost && (text.empty() || IsPlainText(text))) return text;
  }
  value.Fail("must be plain text of at most 200 bytes");
  return "";
}

}  // namespace assay::imports
