// The three forms of every listing: table, JSON and CSV.
#pragma once

#include <google/protobuf/message.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "cli/views/table.h"

namespace assay::cli {

enum class OutputFormat { kTable, kJson, kCsv };

// One record of RFC 4180, CRLF included: fields with commas, quotes or line
// breaks are quoted.
std::string CsvRecord(const std::vector<std::string>& fields);

// `message` as JSON on one line, fields named as in the .proto, unset scalars
// written out.
std::string ToJson(const google::protobuf::Message& message);

// The same with one more member behind the message's own fields; `json` is its value.
std::string ToJsonWith(const google::protobuf::Message& message, std::string_view name,
                       const std::string& json);

// A JSON array with one message a line, written as it grows.
class JsonArray {
 public:
  // "[", or "," before every further message.
  std::string Add(const google::protobuf::Message& message) { return AddText(ToJson(message)); }
  // The same for a value that is JSON already.
  std::string AddText(const std::string& json);
  std::string Finish() const { return empty_ ? "[]\n" : "\n]\n"; }

 private:
  bool empty_ = true;
};

// Writes to stdout or stderr; a closed pipe is not an error.
void Print(std::string_view text);
void PrintError(std::string_view text);

}  // namespace assay::cli
