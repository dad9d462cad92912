// Output formats of listings, and output to the terminal.
#pragma once

#include <google/protobuf/message.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "cli/views/table.h"

namespace assay::cli {

enum class OutputFormat { kTable, kJson, kCsv };

// Formats one CSV record (RFC 4180), including the CRLF at its end. Quotes fields that contain
// commas or quotes. Because names and messages may come from untrusted machines, replaces control
// characters, and prepends an apostrophe to text that a spreadsheet would run as a formula.
std::string CsvRecord(const std::vector<std::string>& fields);

// Converts `message` to one line of JSON, using the field names in the .proto file as keys.
// Includes unset scalar fields.
std::string ToJson(const google::protobuf::Message& message);

// Returns ToJson with one more member at the end, named `name`. Its value `json` must be JSON.
std::string ToJsonWith(const google::protobuf::Message& message, std::string_view name,
                       const std::string& json);

// Writes a JSON array with one element per line, piece by piece.
class JsonArray {
 public:
  // Returns the next piece of the array: "[" or "," and `message`.
  std::string Add(const google::protobuf::Message& message) { return AddText(ToJson(message)); }
  // Returns the next piece for an element that is JSON already.
  std::string AddText(const std::string& json);
  std::string Finish() const { return empty_ ? "[]\n" : "\n]\n"; }

 private:
  bool empty_ = true;
};

// Write to stdout and stderr. A closed pipe is not an error.
void Print(std::string_view text);
void PrintError(std::string_view text);

}  // namespace assay::cli
