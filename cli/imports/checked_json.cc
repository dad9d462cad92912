#include "cli/imports/checked_json.h"

#include <algorithm>
#include <cmath>

#include "common/utf8.h"
#include "cli/imports/checked_text.h"

namespace assay::imports {
namespace {

constexpr int kMaxDepth = 20;
constexpr int kMaxValues = 1'000'000;
constexpr size_t kMaxText = 1000;
constexpr double kMaxNumber = 1e15;

Status Fault(std::string message) { return InvalidArgument(std::move(message), "BAD_FILE"); }

size_t LineAt(std::string_view text, size_t byte) {
  byte = std::min(byte, text.size());
  return 1 + static_cast<size_t>(std::count(text.begin(), text.begin() + byte, '\n'));
}

// Before anything is built of it: a small file can make a large tree.
Status CheckSize(std::string_view text) {
  int depth = 0;
  int values = 1;
  bool in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
      continue;
    }
    in_text = c == '"';
    if (c == '}' || c == ']') --depth;
    if (c == ',') ++values;
    if (c == '{' || c == '[') ++depth, ++values;
    if (depth > kMaxDepth) {
      return FaultAt(LineAt(text, i), "expected JSON of at most " + std::to_string(kMaxDepth) +
                                          " levels; this is deeper");
    }
    if (values > kMaxValues) {
      return FaultAt(LineAt(text, i), "expected JSON of at most " + std::to_string(kMaxValues) +
                                          " values; there are more");
    }
  }
  return Status::Ok();
}

// Remembers where parsing stopped; builds nothing. nlohmann's own errors are exceptions.
class ErrorPlace : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    byte = position;
    return false;
  }

  size_t byte = 0;
};

}  // namespace

Result<Json> ParseJson(std::string_view text) {
  ASSAY_RETURN_IF_ERROR(LinesOf(text).status());
  ASSAY_RETURN_IF_ERROR(CheckSize(text));
  ErrorPlace place;
  if (!Json::sax_parse(text.begin(), text.end(), &place)) {
    const size_t last = std::max<size_t>(place.byte, 1) - 1;
    if (Trimmed(text.substr(std::min(last, text.size()))).find_first_not_of("\r\n") ==
        std::string_view::npos) {
      return FaultAt(LineAt(text, text.size()), "the JSON ends here; the file was cut short");
    }
    return FaultAt(LineAt(text, last), "expected JSON, and this is none");
  }
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) return FaultAt(1, "expected a JSON object");
  return json;
}

Result<const Json*> MemberOf(const Json& object, const std::string& name,
                             const std::string& where) {
  if (!object.is_object()) return Fault(where + " is no JSON object");
  const auto found = object.find(name);
  if (found == object.end()) return Fault(where + " has no `" + name + "`");
  return &*found;
}

Result<double> ToNumber(const Json& value, const std::string& what) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    Result<double> number = NumberOf(Trimmed(text), 1, what);
    if (number.ok()) return number;
    return Fault(what + " is " + Quoted(text) + "; expected a number from 0 to 1e15");
  }
  if (!value.is_number()) return Fault(what + " is " + value.type_name() + ", not a number");
  const double number = value.get<double>();
  if (!std::isfinite(number) || number < 0 || number > kMaxNumber) {
    return Fault(what + " is out of bounds; expected a number from 0 to 1e15");
  }
  return number;
}

Result<double> JsonNumber(const Json& object, const std::string& name, const std::string& where) {
  ASSAY_ASSIGN_OR_RETURN(const Json* value, MemberOf(object, name, where));
  return ToNumber(*value, "`" + name + "` of " + where);
}

Result<int64_t> JsonInteger(const Json& object, const std::string& name, const std::string& where,
                            int64_t least) {
  ASSAY_ASSIGN_OR_RETURN(const Json* value, MemberOf(object, name, where));
  const Status bad = Fault("`" + name + "` of " + where + " is no whole number from " +
                           std::to_string(least) + " to 2^53");
  if (value->is_string()) {
    const Result<int64_t> number =
        IntegerOf(Trimmed(value->get_ref<const std::string&>()), 1, name, least);
    return number.ok() ? number : bad;
  }
  if (!value->is_number_integer()) return bad;
  if (value->is_number_unsigned() && value->get<uint64_t>() > uint64_t{kMaxInteger}) return bad;
  const auto number = value->get<int64_t>();
  if (number < least || number > kMaxInteger) return bad;
  return number;
}

Result<std::string> JsonText(const Json& object, const std::string& name,
                             const std::string& where) {
  ASSAY_ASSIGN_OR_RETURN(const Json* value, MemberOf(object, name, where));
  if (!value->is_string() || value->get_ref<const std::string&>().size() > kMaxText ||
      !IsPlainText(value->get_ref<const std::string&>())) {
    return Fault("`" + name + "` of " + where + " is no plain text of at most " +
                 std::to_string(kMaxText) + " bytes");
  }
  return value->get<std::string>();
}

Result<const Json*> JsonArray(const Json& object, const std::string& name,
                              const std::string& where) {
  ASSAY_ASSIGN_OR_RETURN(const Json* value, MemberOf(object, name, where));
  if (!value->is_array()) return Fault("`" + name + "` of " + where + " is no JSON array");
  return value;
}

}  // namespace assay::imports
