#include "storage/postgres/sql.h"

namespace assay::storage {
namespace {

// Returns the non-null elements of a one-dimensional array. Does not use libpqxx's parser, because
// it would split an element at a semicolon, which PostgreSQL does not quote.
std::vector<std::string> Elements(const pqxx::field& array) {
  std::vector<std::string> elements;
  if (array.is_null()) return elements;
  const std::string_view text(array.c_str(), array.size());
  for (size_t i = 1; i + 1 < text.size(); ++i) {  // Between the braces.
    std::string element;
    const bool quoted = text[i] == '"';
    if (quoted) ++i;
    for (; text[i] != (quoted ? '"' : ',') && i + 1 < text.size(); ++i) {
      if (text[i] == '\\') ++i;
      element += text[i];
    }
    if (quoted) ++i;
    if (quoted || element != "NULL") elements.push_back(std::move(element));
  }
  return elements;
}

void AppendHex(std::string_view bytes, std::string& text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const size_t begin = text.size();
  text.resize(begin + 2 * bytes.size());
  char* out = text.data() + begin;
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    *out++ = kDigits[byte >> 4];
    *out++ = kDigits[byte & 15];
  }
}

int HexDigit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

}  // namespace

void ArrayLiteral::Separate() {
  if (text_.size() > 1) text_.push_back(',');
}

void ArrayLiteral::Add(std::string_view text) {
  Separate();
  text_.push_back('"');
  for (char c : text) {
    if (c == '\0') continue;  // PostgreSQL's text cannot hold it.
    if (c == '"' || c == '\\') text_.push_back('\\');
    text_.push_back(c);
  }
  text_.push_back('"');
}

void ArrayLiteral::Add(int64_t number) {
  Separate();
  text_ += std::to_string(number);
}

void ArrayLiteral::AddNull() {
  Separate();
  text_ += "NULL";
}

void ArrayLiteral::AddBytes(std::string_view bytes) {
  Separate();
  text_ += "\"\\\\x";
  AppendHex(bytes, text_);
  text_.push_back('"');
}

std::vector<std::string> TextsOf(const pqxx::field& array) { return Elements(array); }

std::vector<int> IntegersOf(const pqxx::field& array) {
  std::vector<int> integers;
  for (const std::string& element : Elements(array)) integers.push_back(std::stoi(element));
  return integers;
}

std::vector<std::string> FirstTexts(const pqxx::result& rows) {
  std::vector<std::string> texts;
  for (const auto& row : rows) texts.push_back(row[0].as<std::string>());
  return texts;
}

std::string HexLiteral(std::string_view bytes) {
  std::string text = "\\x";
  AppendHex(bytes, text);
  return text;
}

std::string BytesOf(const pqxx::field& bytea) {
  std::string bytes;
  if (bytea.is_null()) return bytes;
  const std::string_view hex(bytea.c_str());
  bytes.reserve(hex.size() / 2);
  for (size_t i = 2; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(HexDigit(hex[i]) << 4 | HexDigit(hex[i + 1])));
  }
  return bytes;
}

std::string Microseconds(std::string_view column) {
  return "(extract(epoch FROM " + std::string(column) + ") * 1000000)::bigint";
}

WallTime TimeOf(const pqxx::field& microseconds) {
  return WallTime(std::chrono::microseconds(microseconds.as<int64_t>()));
}

std::string Interval(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(duration).count()) +
         " microseconds";
}

int EnumNumber(const google::protobuf::EnumDescriptor& type, std::string_view word) {
  for (int i = 0; i < type.value_count(); ++i) {
    if (schema::EnumWord(type, type.value(i)->number()) == word) return type.value(i)->number();
  }
  return 0;
}

Result<std::string> StorableJson(const nlohmann::json& json) {
  try {
    return WithoutNul(json.dump());
  } catch (const nlohmann::json::type_error&) {
    return InvalidArgument("a text is not UTF-8");
  }
}

std::string WithoutNul(std::string json) {
  for (size_t i = 0; i + 1 < json.size(); ++i) {
    if (json[i] != '\\') continue;
    if (json.compare(i, 6, "\\u0000") == 0) json.replace(i, 6, "\\ufffd");
    ++i;  // Skips the escaped character.
  }
  return json;
}

}  // namespace assay::storage
