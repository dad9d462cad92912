// What a benchmark's parameter accepts, and the one canonical text of each value.
// Runner, coordinator and CLI share it, so that "1GiB" and "1073741824" are the
// same case wherever they are written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace assay {

enum class ParameterType { kInteger, kBytes, kWord, kBoolean };

// What a number is a multiple of; 0 is one of everything.
struct MultipleOf {
  int64_t number = 1;
  // Besides of this parameter's value in the same case. Empty: of no other's.
  std::string parameter = {};
  // Where `parameter` is a kWord: the number by word. Words that are not here ask for none.
  std::map<std::string, int64_t> of_words = {};
};

// What a parameter may be beside certain values of others, less than it may be by itself.
struct Limit {
  // Where it holds: each of these parameters has one of the values, canonical. Empty: always.
  std::map<std::string, std::vector<std::string>> when = {};
  // Canonical. Empty: any.
  std::vector<std::string> values = {};
  // For users; may be empty.
  std::string why = {};
  // Of kInteger and kBytes, inclusive.
  std::optional<int64_t> minimum = {};
  std::optional<int64_t> maximum = {};
  // The number for each of which `minimum` is: 16 bytes for each of "ranks". Empty: for all.
  std::string minimum_per = {};
  // The numbers that the value is multiplied by before `maximum` bounds it; itself too, if it is
  // among them.
  std::vector<std::string> times = {};
};

struct ParameterSpec {
  std::string name;
  ParameterType type = ParameterType::kInteger;
  std::string description;
  // Canonical; absent means that the parameter must be given.
  std::optional<std::string> default_value;
  // Inclusive bounds of kInteger and kBytes.
  std::optional<int64_t> minimum;
  std::optional<int64_t> maximum;
  // Allowed values of kWord.
  std::vector<std::string> words;
  // Of kInteger and kBytes: the number whose value in the same case is greater, as "ranks" is
  // greater than any rank. Empty: none has to be.
  std::string below = {};
  // Of kInteger and kBytes.
  MultipleOf multiple_of = {};
  std::vector<Limit> limits = {};
};

// Canonical values by parameter name.
using ParameterMap = std::map<std::string, std::string>;

// `text` in canonical form: integers and bytes in decimal, words as declared,
// booleans "true" or "false". The error says what is allowed.
Result<std::string> CanonicalValue(const ParameterSpec& spec, std::string_view text);

// What is wrong with the value of `spec` beside the others of its case, canonical `values`: "is 5;
// it must be below ranks, which is 2: 0 to 1", "is nn; it must be nt with dtype int8". Empty if
// nothing is. Parameters that are not in `values` ask for nothing.
std::string BrokenTie(const ParameterSpec& spec, const ParameterMap& values);

// Checks names and values of `given`, fills in defaults, and checks what ties the values
// together. The error has one violation a fault, `field` being the parameter's name.
Result<ParameterMap> CanonicalParameters(const std::vector<ParameterSpec>& specs,
                                         const ParameterMap& given);

// "one of bf16, fp16", "a whole number from 0 to 4095, below ranks", "a size from 8B to 8GiB, a
// multiple of 4"; "2" where that is the only number.
std::string AllowedValues(const ParameterSpec& spec);

// What certain values of others ask of `spec`, which AllowedValues leaves out: "at most 32 with
// variant warp: a lane each", "a multiple of 16 with dtype fp8_e4m3 or fp8_e5m2".
std::vector<std::string> LimitTexts(const ParameterSpec& spec);

// Which of `names` the user probably meant by `name`; empty if none is close.
std::string ClosestName(std::string_view name, const std::vector<std::string>& names);

}  // namespace assay
