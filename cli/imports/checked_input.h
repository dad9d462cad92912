// Reads untrusted text and JSON: every value is checked, and errors say where it stands.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace assay::imports {

inline constexpr int64_t kMaxInteger = int64_t{1} << 53;

// INVALID_ARGUMENT, reason BAD_FILE: "WHERE: WHAT".
Status BadFile(const std::string& where, const std::string& what);

// Splits `text` into lines without their ends. Refuses more than kMaxFileBytes or 200,000
// lines, malformed UTF-8, and control characters other than tabs.
Result<std::vector<std::string_view>> LinesOf(std::string_view text);

// The words of `line`, separated by spaces and tabs.
std::vector<std::string_view> WordsOf(std::string_view line);

// A number as a program printed it.
struct Printed {
  double value = 0;
  double unit = 0;  // Weight of the last digit: 0.01 for "1.50", 1e5 for "1.2e6".
};

// Parses a finite number from 0 to 1e15.
std::optional<Printed> ParseNumber(std::string_view word);

// Parses a whole number from `least` to `most`.
std::optional<int64_t> ParseInteger(std::string_view word, int64_t least = 0,
                                    int64_t most = kMaxInteger);

// Parses an object. INVALID_ARGUMENT names the line where the text stops being JSON.
Result<nlohmann::json> ParseJson(std::string_view text);

// One value of a JSON file, with its path. All values of a file share `status`, which keeps the
// first error. After an error, reads return empty values, so that callers check once at the end.
class JsonValue {
 public:
  // Both must outlive this value and those read from it.
  JsonValue(const nlohmann::json& json, Status& status) : json_(&json), status_(&status) {}

  const std::string& path() const { return path_; }
  bool Has(const std::string& name) const { return json_->is_object() && json_->contains(name); }
  bool IsNull() const { return json_->is_null(); }
  bool IsText() const { return json_->is_string(); }

  JsonValue Member(const std::string& name) const;
  std::vector<JsonValue> Array(const std::string& name) const;

  // Each reads the member `name`, or this value if `name` is empty. Numbers may be spelled as
  // text. Texts have at most 200 bytes and no control characters.
  double Number(const std::string& name = "") const;
  int64_t Integer(const std::string& name, int64_t least = 0, int64_t most = kMaxInteger) const;
  std::string Text(const std::string& name = "") const;

  // Records "PATH: WHAT" unless there is an error already.
  void Fail(const std::string& what) const;

 private:
  JsonValue At(const nlohmann::json& json, std::string path) const;
  // The text of a string or number; empty after recording that `wanted` was expected.
  std::string Spelled(const std::string& wanted) const;

  const nlohmann::json* json_;
  std::string path_;
  Status* status_;
};

}  // namespace assay::imports
