#include "model/parameter.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "common/units.h"

namespace assay {
namespace {

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

// "l1, l2 or shared" where `last` is " or "; "nt".
std::string JoinLast(const std::vector<std::string>& parts, const char* last) {
  if (parts.size() < 2) return Join(parts);
  return Join({parts.begin(), parts.end() - 1}) + last + parts.back();
}

std::string JoinOr(const std::vector<std::string>& parts) { return JoinLast(parts, " or "); }

bool Contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::string FormatNumber(ParameterType type, int64_t number) {
  return type == ParameterType::kBytes ? FormatBytes(number) : std::to_string(number);
}

// The short name of an element type that other programs (and campaigns for earlier
// versions) spell out; empty for any other text.
std::string ShortTypeName(std::string_view text) {
  static const std::map<std::string_view, std::string> names = {
      {"float64", "fp64"}, {"double", "fp64"}, {"float32", "fp32"}, {"float", "fp32"},
      {"float16", "fp16"}, {"half", "fp16"},   {"bfloat16", "bf16"}};
  const auto found = names.find(text);
  return found == names.end() ? "" : found->second;
}

// Of a number in `values`; nothing if it is not there.
std::optional<int64_t> NumberOf(const ParameterMap& values, const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end()) return std::nullopt;
  const Result<int64_t> number = ParseInteger(found->second);
  return number.ok() ? std::optional(*number) : std::nullopt;
}

// Of `value`, which must be less than that of spec.below.
std::string NotBelow(const ParameterSpec& spec, int64_t value, const ParameterMap& values) {
  const std::optional<int64_t> limit = NumberOf(values, spec.below);
  if (!limit || value < *limit) return "";
  std::string text = "is " + std::to_string(value) + "; it must be below " + spec.below +
                     ", which is " + std::to_string(*limit);
  if (spec.minimum && *spec.minimum < *limit) {
    text += ": " + std::to_string(*spec.minimum) + " to " + std::to_string(*limit - 1);
  }
  return text;
}

// Of `value`, and what it must be a multiple of.
std::string NoMultiple(const MultipleOf& of, int64_t value, const ParameterMap& values) {
  const auto broken = [value](int64_t number) { return number > 0 && value % number != 0; };
  const auto must = [value](const std::string& what) {
    return "is " + std::to_string(value) + "; it must be a multiple of " + what;
  };
  if (broken(of.number)) return must(std::to_string(of.number));
  const auto other = values.find(of.parameter);
  if (other == values.end()) return "";
  if (of.of_words.empty()) {
    const std::optional<int64_t> number = NumberOf(values, of.parameter);
    if (!number || !broken(*number)) return "";
    return must(of.parameter + ", which is " + other->second);
  }
  const auto number = of.of_words.find(other->second);
  if (number == of.of_words.end() || !broken(number->second)) return "";
  return must(std::to_string(number->second) + " with " + of.parameter + " " + other->second);
}

// " with dtype int8 and op avg": the values that `limit` is for, those of `values` where the case
// has them; nothing if its values are others, or it lacks the parameter.
std::optional<std::string> WhereOf(const Limit& limit, const ParameterMap* values) {
  std::string where;
  for (const auto& [name, of] : limit.when) {
    where += (where.empty() ? " with " : " and ") + name + " ";
    if (values == nullptr) {
      where += JoinOr(of);
      continue;
    }
    const auto found = values->find(name);
    if (found == values->end() || !Contains(of, found->second)) return std::nullopt;
    where += found->second;
  }
  return where;
}

// What `minimum` comes to in the case; nothing if `minimum_per` is not in it.
std::optional<int64_t> MinimumOf(const Limit& limit, const ParameterMap& values) {
  if (!limit.minimum || limit.minimum_per.empty()) return limit.minimum;
  const std::optional<int64_t> times = NumberOf(values, limit.minimum_per);
  if (!times) return std::nullopt;
  int64_t least = 0;
  const bool beyond = __builtin_mul_overflow(*limit.minimum, *times, &least);
  return beyond ? std::numeric_limits<int64_t>::max() : least;
}

// What limit.maximum bounds, at most the largest number; nothing if a factor is not in the case.
std::optional<int64_t> ProductOf(const Limit& limit, int64_t value, const ParameterMap& values) {
  for (const std::string& name : limit.times) {
    const std::optional<int64_t> factor = NumberOf(values, name);
    if (!factor) return std::nullopt;
    if (__builtin_mul_overflow(value, *factor, &value)) return std::numeric_limits<int64_t>::max();
  }
  return value;
}

// "times m and k "; empty if limit.maximum is of the value alone.
std::string TimesText(const Limit& limit) {
  return limit.times.empty() ? "" : "times " + JoinLast(limit.times, " and ") + " ";
}

// Of the value `text`, which `limit` allows or not.
std::string Beyond(const Limit& limit, const std::string& text, const ParameterMap& values) {
  const std::optional<std::string> where = WhereOf(limit, &values);
  if (!where) return "";
  const auto must = [&](const std::string& what, const std::string& times = "") {
    return "is " + text + "; " + times + "it must be " + what + *where +
           (limit.why.empty() ? "" : ": " + limit.why);
  };
  if (!limit.values.empty() && !Contains(limit.values, text)) return must(JoinOr(limit.values));
  const Result<int64_t> number = ParseInteger(text);
  if (!number.ok()) return "";
  const std::optional<int64_t> least = MinimumOf(limit, values);
  if (least && *number < *least) {
    const std::string times = std::to_string(*limit.minimum) + " times " + limit.minimum_per;
    return must("at least " + std::to_string(*least) +
                (limit.minimum_per.empty() ? "" : " (" + times + ")"));
  }
  const std::optional<int64_t> product = ProductOf(limit, *number, values);
  if (!limit.maximum || !product || *product <= *limit.maximum) return "";
  return must("at most " + std::to_string(*limit.maximum), TimesText(limit));
}

// What AllowedValues adds: ", below ranks".
std::string TiesText(const ParameterSpec& spec) {
  std::string text = spec.below.empty() ? "" : ", below " + spec.below;
  const MultipleOf& of = spec.multiple_of;
  if (of.number > 1) text += ", a multiple of " + std::to_string(of.number);
  if (of.parameter.empty()) return text;
  text += of.number > 1 ? " and of " : ", a multiple of ";
  return text + (of.of_words.empty() ? of.parameter : "what " + of.parameter + " asks for");
}

Status NotAllowed(const ParameterSpec& spec, std::string_view text) {
  std::string message = "\"" + std::string(text.substr(0, 64)) + "\" is not " + AllowedValues(spec);
  const std::string meant = ShortTypeName(text);
  if (std::find(spec.words.begin(), spec.words.end(), meant) != spec.words.end()) {
    message += "; did you mean \"" + meant + "\"?";
  }
  return InvalidArgument(std::move(message), "INVALID_PARAMETER");
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::string AllowedValues(const ParameterSpec& spec) {
  switch (spec.type) {
    case ParameterType::kWord:
      return "one of " + Join(spec.words);
    case ParameterType::kBoolean:
      return "true or false";
    case ParameterType::kInteger:
    case ParameterType::kBytes:
      break;
  }
  const bool one = spec.minimum && spec.maximum && *spec.minimum == *spec.maximum;
  if (one) return FormatNumber(spec.type, *spec.minimum);
  std::string text = spec.type == ParameterType::kBytes ? "a size" : "a whole number";
  if (spec.minimum && spec.maximum) {
    text += " from " + FormatNumber(spec.type, *spec.minimum) + " to " +
            FormatNumber(spec.type, *spec.maximum);
  } else if (spec.minimum) {
    text += " of at least " + FormatNumber(spec.type, *spec.minimum);
  } else if (spec.maximum) {
    text += " of at most " + FormatNumber(spec.type, *spec.maximum);
  }
  return text + TiesText(spec);
}

Result<std::string> CanonicalValue(const ParameterSpec& spec, std::string_view text) {
  if (spec.type == ParameterType::kWord) {
    if (std::find(spec.words.begin(), spec.words.end(), text) == spec.words.end()) {
      return NotAllowed(spec, text);
    }
    return std::string(text);
  }
  if (spec.type == ParameterType::kBoolean) {
    if (text != "true" && text != "false") return NotAllowed(spec, text);
    return std::string(text);
  }
  const Result<int64_t> number =
      spec.type == ParameterType::kBytes ? ParseBytes(text) : ParseInteger(text);
  if (!number.ok() || (spec.minimum && *number < *spec.minimum) ||
      (spec.maximum && *number > *spec.maximum)) {
    return NotAllowed(spec, text);
  }
  return std::to_string(*number);
}

std::string BrokenTie(const ParameterSpec& spec, const ParameterMap& values) {
  std::string fault;
  if (const std::optional<int64_t> value = NumberOf(values, spec.name)) {
    fault = NotBelow(spec, *value, values);
    if (fault.empty()) fault = NoMultiple(spec.multiple_of, *value, values);
  }
  const auto value = values.find(spec.name);
  if (value == values.end()) return "";
  for (const Limit& limit : spec.limits) {
    if (fault.empty()) fault = Beyond(limit, value->second, values);
  }
  return fault;
}

std::vector<std::string> LimitTexts(const ParameterSpec& spec) {
  std::vector<std::string> texts;
  std::map<int64_t, std::vector<std::string>> words;
  for (const auto& [word, number] : spec.multiple_of.of_words) words[number].push_back(word);
  for (const auto& [number, of] : words) {
    if (number == 1) continue;
    texts.push_back("a multiple of " + FormatNumber(spec.type, number) + " with " +
                    spec.multiple_of.parameter + " " + JoinOr(of));
  }
  for (const Limit& limit : spec.limits) {
    std::vector<std::string> parts;
    if (!limit.values.empty()) parts.push_back(JoinOr(limit.values));
    if (limit.minimum) {
      parts.push_back("at least " + FormatNumber(spec.type, *limit.minimum) +
                      (limit.minimum_per.empty() ? "" : " times " + limit.minimum_per));
    }
    if (limit.maximum) {
      parts.push_back(TimesText(limit) + "at most " + FormatNumber(spec.type, *limit.maximum));
    }
    if (parts.empty()) continue;
    texts.push_back(Join(parts) + WhereOf(limit, nullptr).value_or("") +
                    (limit.why.empty() ? "" : ": " + limit.why));
  }
  return texts;
}

Result<ParameterMap> CanonicalParameters(const std::vector<ParameterSpec>& specs,
                                         const ParameterMap& given) {
  std::vector<Violation> violations;
  std::vector<std::string> names;
  for (const ParameterSpec& spec : specs) names.push_back(spec.name);
  for (const auto& [name, text] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string closest = ClosestName(name, names);
    violations.push_back(
        {name,
         "no such parameter; " +
             (closest.empty() ? "there are " + Join(names) : "did you mean \"" + closest + "\"?"),
         0});
  }
  ParameterMap canonical;
  for (const ParameterSpec& spec : specs) {
    const auto found = given.find(spec.name);
    if (found == given.end()) {
      if (spec.default_value) {
        canonical[spec.name] = *spec.default_value;
      } else {
        violations.push_back({spec.name, "is required: " + AllowedValues(spec), 0});
      }
      continue;
    }
    const Result<std::string> value = CanonicalValue(spec, found->second);
    if (value.ok()) {
      canonical[spec.name] = *value;
    } else {
      violations.push_back({spec.name, value.status().message(), 0});
    }
  }
  if (violations.empty()) {
    for (const ParameterSpec& spec : specs) {
      if (std::string fault = BrokenTie(spec, canonical); !fault.empty()) {
        violations.push_back({spec.name, std::move(fault), 0});
      }
    }
  }
  if (!violations.empty()) {
    const std::string first = violations.front().field + ": " + violations.front().description;
    return InvalidArgument("invalid parameters: " + first, "INVALID_PARAMETER")
        .WithViolations(std::move(violations));
  }
  return canonical;
}

std::string ClosestName(std::string_view name, const std::vector<std::string>& names) {
  if (name.size() > 64) return "";
  const std::string* best = nullptr;
  size_t best_distance = std::max<size_t>(name.size() / 3, 1) + 1;
  for (const std::string& candidate : names) {
    // What is longer or shorter by so much need not be compared.
    const size_t shorter = std::min(name.size(), candidate.size());
    if (std::max(name.size(), candidate.size()) - shorter >= best_distance) continue;
    const size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  return best ? *best : "";
}

}  // namespace assay
