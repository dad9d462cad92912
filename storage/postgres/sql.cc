#include "storage/postgres/sql.h"

namespace assay::storage {
namespace {

std::vector<std::string> Elements(const pqxx::field& array) {
  std::vector<std::string> elements;
  if (array.is_null()) return elements;
  auto parser = array.as_array();
  using Juncture = pqxx::array_parser::juncture;
  for (auto next = parser.get_next(); next.first != Juncture::done; next = parser.get_next()) {
    if (next.first == Juncture::string_value) elements.push_back(next.second);
  }
  return elements;
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
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "\\x";
  text.reserve(2 + bytes.size() * 2);
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
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
