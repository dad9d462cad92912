// Converts values to text that is bound to statements, and back.
#pragma once

#include <google/protobuf/generated_enum_reflection.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "storage/postgres/pqxx.h"
#include "wire/field.h"

namespace assay::storage {

// Builds the literal of a one-dimensional array, to be bound and cast.
class ArrayLiteral {
 public:
  void Add(std::string_view text);
  void Add(int64_t number);
  void AddNull();
  // For elements of type bytea.
  void AddBytes(std::string_view bytes);
  std::string Finish() const { return text_ + "}"; }

 private:
  void Separate();
  std::string text_ = "{";
};

template <typename Range>
std::string ArrayOf(const Range& range) {
  ArrayLiteral array;
  for (const auto& element : range) {
    if constexpr (std::is_integral_v<std::decay_t<decltype(element)>>) {
      array.Add(static_cast<int64_t>(element));
    } else {
      array.Add(element);
    }
  }
  return array.Finish();
}

std::vector<std::string> TextsOf(const pqxx::field& array);
std::vector<int> IntegersOf(const pqxx::field& array);

// Returns the first column of every row.
std::vector<std::string> FirstTexts(const pqxx::result& rows);

// bytea as text: "\x00ff".
std::string HexLiteral(std::string_view bytes);
std::string BytesOf(const pqxx::field& bytea);

// Select a column of type timestamptz as Microseconds(column) and read it with TimeOf.
std::string Microseconds(std::string_view column);
WallTime TimeOf(const pqxx::field& microseconds);

// Formats a duration for use as "now() + $1::interval".
std::string Interval(Duration duration);

int EnumNumber(const google::protobuf::EnumDescriptor& type, std::string_view word);

// Converts JSON to text that PostgreSQL accepts. Replaces NUL characters, which PostgreSQL rejects.
// Returns INVALID_ARGUMENT if the JSON contains text that is not valid UTF-8.
Result<std::string> StorableJson(const nlohmann::json& json);

// Replaces NUL characters in JSON text, as StorableJson does.
std::string WithoutNul(std::string json);

// Returns the word for an enum value in the database, such as "queued" for JOB_STATE_QUEUED.
template <typename Enum>
std::string WordOf(Enum value) {
  return schema::EnumWord(*google::protobuf::GetEnumDescriptor<Enum>(), value);
}

// Returns the enum value for such a word, or unspecified for NULL and for unknown words.
template <typename Enum>
Enum EnumOf(std::string_view word) {
  return static_cast<Enum>(EnumNumber(*google::protobuf::GetEnumDescriptor<Enum>(), word));
}
template <typename Enum>
Enum EnumOf(const pqxx::field& word) {
  return EnumOf<Enum>(word.is_null() ? "" : word.c_str());
}

}  // namespace assay::storage
