// Bridge: the ties of declarations that are not converted yet, checked on the node. Goes with the
// last of them.
#include <algorithm>
#include <limits>

#include "common/units.h"
#include "kernels/benchmark.h"

namespace assay {
namespace {

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}
std::string JoinLast(const std::vector<std::string>& parts, const char* last) {
  if (parts.size() < 2) return Join(parts);
  return Join({parts.begin(), parts.end() - 1}) + last + parts.back();
}
std::string JoinOr(const std::vector<std::string>& parts) { return JoinLast(parts, " or "); }
bool Contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
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
std::string NoMultiple(const OldMultipleOf& of, int64_t value, const ParameterMap& values) {
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

}  // namespace

Status CheckOldLimits(const BenchmarkInfo& info, const ParameterMap& parameters) {
  for (const ParameterSpec& spec : info.parameters) {
    if (const std::string fault = BrokenTie(spec, parameters); !fault.empty()) {
      return InvalidParameter(spec.name, fault);
    }
  }
  return Status::Ok();
}

}  // namespace assay
