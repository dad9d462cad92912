#include "cli/imports/checked_input.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/imports/imports.h"
#include "common/text.h"

namespace assay::imports {
namespace {

constexpr size_t kMaxLines = 200'000;
constexpr double kMaxNumber = 1e15;

// Parses all of `word`, or returns nullopt.
template <typename Number>
std::optional<Number> ParseAll(std::string_view word) {
  Number number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace

Status BadFile(const std::string& where, const std::string& what) {
  return InvalidArgument(where + ": " + what, Reason::kBadFile);
}

Result<std::vector<std::string_view>> LinesOf(std::string_view text) {
  if (text.size() > kMaxFileBytes) return BadFile("the file", "larger than 16 MiB");
  std::vector<std::string_view> lines = Split(text, '\n', kMaxLines + 1);
  if (lines.size() > kMaxLines) return BadFile("the file", "longer than 200000 lines");
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].ends_with('\r')) lines[i].remove_suffix(1);
    const std::vector<std::string_view> parts = Split(lines[i], '\t');
    if (!std::all_of(parts.begin(), parts.end(), IsPlainText)) {
      return BadFile("line " + std::to_string(i + 1),
                     "expected text in UTF-8 without control characters");
    }
  }
  return lines;
}

std::vector<std::string_view> WordsOf(std::string_view line) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  std::vector<std::string_view> words;
  for (const char* at = line.begin(); at != line.end();) {
    const char* const begin = std::find_if_not(at, line.end(), blank);
    at = std::find_if(begin, line.end(), blank);
    if (at != begin) words.emplace_back(begin, static_cast<size_t>(at - begin));
  }
  return words;
}

std::optional<double> ParseNumber(std::string_view word) {
  const std::optional<double> number = ParseAll<double>(word);
  // A comparison with NaN is false.
  return number && *number >= 0 && *number <= kMaxNumber ? number : std::nullopt;
}

std::optional<int64_t> ParseInteger(std::string_view word, int64_t least, int64_t most) {
  const std::optional<int64_t> number = ParseAll<int64_t>(word);
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

Result<nlohmann::json> ParseJson(std::string_view text) {
  ASSAY_RETURN_IF_ERROR(LinesOf(text).status());
  try {
    nlohmann::json json = nlohmann::json::parse(text.begin(), text.end());
    if (!json.is_object()) return BadFile("line 1", "expected a JSON object");
    return json;
  } catch (const nlohmann::json::parse_error& error) {
    const size_t byte = std::min(std::max<size_t>(error.byte, 1) - 1, text.size());
    const auto newlines = std::count(text.begin(), text.begin() + byte, '\n');
    return BadFile(
        "line " + std::to_string(newlines + 1),
        byte == text.size() ? "the JSON ends here; the file was cut short" : "not valid JSON");
  } catch (const nlohmann::json::exception&) {
    return BadFile("the file", "not valid JSON");
  }
}

void JsonValue::Fail(const std::string& what) const {
  if (status_->ok()) *status_ = BadFile(path_.empty() ? "the file" : path_, what);
}

JsonValue JsonValue::Member(const std::string& name) const {
  static const nlohmann::json kNull;
  if (name.empty()) return *this;
  const bool has = Has(name);
  JsonValue member(has ? (*json_)[name] : kNull, *status_,
                   path_.empty() ? name : path_ + "." + name);
  if (!has) member.Fail("missing");
  return member;
}

std::vector<JsonValue> JsonValue::Array(const std::string& name) const {
  const JsonValue array = Member(name);
  if (!array.json_->is_array()) array.Fail("must be an array");
  std::vector<JsonValue> items;
  for (size_t i = 0; array.json_->is_array() && i < array.json_->size(); ++i) {
    items.emplace_back((*array.json_)[i], *status_, array.path_ + "[" + std::to_string(i) + "]");
  }
  return items;
}

std::string JsonValue::Spelled() const {
  if (json_->is_number()) return json_->dump();
  if (!json_->is_string()) return "";
  const std::vector<std::string_view> words = WordsOf(json_->get_ref<const std::string&>());
  return words.size() == 1 ? std::string(words[0]) : "";
}

double JsonValue::Number(const std::string& name) const {
  const JsonValue value = Member(name);
  const std::optional<double> number = ParseNumber(value.Spelled());
  if (!number) value.Fail("must be a number from 0 to 1e15");
  return number.value_or(0);
}

int64_t JsonValue::Integer(const std::string& name, int64_t least, int64_t most) const {
  const JsonValue value = Member(name);
  const std::optional<int64_t> number = ParseInteger(value.Spelled(), least, most);
  if (!number) {
    value.Fail("must be a whole number from " + std::to_string(least) + " to " +
               (most == kMaxInteger ? "2^53" : std::to_string(most)));
  }
  return number.value_or(least);
}

std::string JsonValue::Text(const std::string& name) const {
  constexpr size_t kMost = 200;
  const JsonValue value = Member(name);
  if (value.json_->is_string()) {
    const auto& text = value.json_->get_ref<const std::string&>();
    if (text.size() <= kMost && IsPlainText(text)) return text;
  }
  value.Fail("must be plain text of at most 200 bytes");
  return "";
}

}  // namespace assay::imports
