// Reads untrusted text and JSON. Every value is checked, and errors name its place.
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

// Returns INVALID_ARGUMENT, reason BAD_FILE: "WHERE: WHAT".
Status BadFile(const std::string& where, const std::string& what);

// Splits `text` into lines, without line endings. Returns an error if the text exceeds
// kMaxFileBytes or 200,000 lines, is not valid UTF-8, or contains control characters other than
// tabs.
Result<std::vector<std::string_view>> LinesOf(std::string_view text);

// Returns the words of `line`, which are separated by spaces and tabs.
std::vector<std::string_view> WordsOf(std::string_view line);

// Parses a finite number from 0 to 1e15.
std::optional<double> ParseNumber(std::string_view word);

// Parses a whole number from `least` to `most`.
std::optional<int64_t> ParseInteger(std::string_view word, int64_t least = 0,
                                    int64_t most = kMaxInteger);

// Parses a JSON object. The error names the line where the text stops being JSON.
Result<nlohmann::json> ParseJson(std::string_view text);

// A value in a JSON file, together with its path for use in error messages. All values of a file
// share one `status`, which holds the first error. After an error, all reads return empty values,
// so callers can read everything and check `status` once at the end.
class JsonValue {
 public:
  // `json` and `status` must outlive this value and those read from it.
  JsonValue(const nlohmann::json& json, Status& status, std::string path = "")
      : json_(&json), path_(std::move(path)), status_(&status) {}

  const std::string& path() const { return path_; }
  bool Has(const std::string& name) const { return json_->is_object() && json_->contains(name); }
  bool IsNull() const { return json_->is_null(); }
  bool IsText() const { return json_->is_string(); }

  JsonValue Member(const std::string& name) const;
  std::vector<JsonValue> Array(const std::string& name) const;

  // Return the member `name` of this object or, if `name` is empty, this value itself. Numbers may
  // also be given as strings. Strings may have at most 200 bytes and no control characters.
  double Number(const std::string& name = "") const;
  int64_t Integer(const std::string& name, int64_t least = 0, int64_t most = kMaxInteger) const;
  std::string Text(const std::string& name = "") const;

  // Records "PATH: WHAT" unless there is an error already.
  void Fail(const std::string& what) const;

 private:
  // Returns a number as text, or the only word of a string. Returns "" for all other values.
  std::string Spelled() const;

  const nlohmann::json* json_;
  std::string path_;
  Status* status_;
};

}  // namespace assay::imports
