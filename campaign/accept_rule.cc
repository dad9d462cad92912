#include "campaign/accept_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "common/text.h"
#include "common/units.h"
#include "wire/benchmark_schema.h"

namespace assay::campaign {
namespace {

constexpr size_t kMaxRuleBytes = 1024;

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// A parser that reads a rule from left to right.
class RuleParser {
 public:
  explicit RuleParser(std::string_view text) : text_(text) {}

  Result<AcceptRule> Parse() {
    rule_.text = std::string(text_);
    ASSAY_RETURN_IF_ERROR(TakeName("a benchmark's name", rule_.benchmark));
    if (Take("[")) ASSAY_RETURN_IF_ERROR(TakeParameters());
    if (!Take(".")) return Expected("\".\" and a metric");
    ASSAY_RETURN_IF_ERROR(TakeName("a metric's name", rule_.metric));
    ASSAY_RETURN_IF_ERROR(TakeComparison());
    ASSAY_RETURN_IF_ERROR(TakeThreshold());
    SkipSpace();
    if (at_ < text_.size()) return Expected("the end of the rule");
    return std::move(rule_);
  }

 private:
  Status Expected(const std::string& what) {
    SkipSpace();
    const std::string found = at_ < text_.size() ? Quote(text_.substr(at_)) : "the end of the rule";
    return InvalidArgument(fmt::format("expected {} at character {}, found {}; write for example "
                                       "gemm[dtype=bf16].tflops >= 65% of spec",
                                       what, at_ + 1, found),
                           Reason::kInvalidAcceptRule);
  }

  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  bool Take(std::string_view token) {
    SkipSpace();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  std::string TakeWhile(bool (*belongs)(char)) {
    SkipSpace();
    const size_t begin = at_;
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  Status TakeName(const std::string& what, std::string& into) {
    into = TakeWhile(IsNameChar);
    return into.empty() ? Expected(what) : Status::Ok();
  }

  Status TakeParameters() {
    do {
      auto& [name, value] = rule_.parameters.emplace_back();
      ASSAY_RETURN_IF_ERROR(TakeName("a parameter's name", name));
      if (!Take("=")) return Expected("\"=\" and a value");
      value = TakeWhile([](char c) { return c != ',' && c != ']' && c != ' ' && c != '['; });
      if (value.empty()) return Expected("a value");
    } while (Take(","));
    return Take("]") ? Status::Ok() : Expected("\",\" or \"]\"");
  }

  Status TakeComparison() {
    rule_.spread = Take("spread");
    using Comparison = AcceptRule::Comparison;
    static constexpr std::array<std::pair<std::string_view, Comparison>, 4> kSymbols = {{
        {">=", Comparison::kAtLeast},
        {"<=", Comparison::kAtMost},
        {">", Comparison::kAbove},
        {"<", Comparison::kBelow},
    }};
    for (const auto& [symbol, comparison] : kSymbols) {
      if (!Take(symbol)) continue;
      rule_.comparison = comparison;
      return Status::Ok();
    }
    return Expected("one of >=, <=, >, <");
  }

  Status TakeThreshold() {
    SkipSpace();
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), rule_.threshold);
    if (error != std::errc() || !std::isfinite(rule_.threshold)) return Expected("a number");
    at_ = static_cast<size_t>(end - text_.data());
    if (rule_.spread) {
      if (rule_.threshold < 0) return Expected("a percentage of at least 0");
      if (rule_.WantsLarge()) return Expected("a spread to be at most a percentage: spread <= 5%");
      return Take("%") ? Status::Ok() : Expected("\"%\", because a spread is a percentage");
    }
    if (Take("%")) return TakePercentage();
    rule_.unit = TakeWhile([](char c) { return c != ' ' && c != '\t'; });
    return Status::Ok();
  }

  Status TakePercentage() {
    if (!Take("of")) return Expected("\"of spec\", or \"of baseline\" and its name");
    if (Take("spec")) {
      rule_.percent_of_spec = true;
      return Status::Ok();
    }
    if (!Take("baseline")) return Expected("\"spec\", or \"baseline\" and its name");
    rule_.baseline = TakeWhile([](char c) { return IsNameChar(c) || c == '-' || c == '.'; });
    return rule_.baseline.empty() ? Expected("a baseline's name") : Status::Ok();
  }

  const std::string_view text_;
  size_t at_ = 0;
  AcceptRule rule_;
};

// Splits a unit into an SI or binary prefix and the rest, in all possible ways, including without a
// prefix. Each result consists of the prefix's factor and the rest, such as 1e9 and "B/s" for
// "GB/s".
std::vector<std::pair<double, std::string_view>> Readings(std::string_view unit) {
  static constexpr std::array<std::pair<std::string_view, double>, 14> kPrefixes = {{
      {"n", 1e-9},
      {"u", 1e-6},
      {"\u00b5", 1e-6},
      {"m", 1e-3},
      {"k", 1e3},
      {"K", 1e3},
      {"M", 1e6},
      {"G", 1e9},
      {"T", 1e12},
      {"P", 1e15},
      {"Ki", 1024.0},
      {"Mi", 1024.0 * 1024},
      {"Gi", 1024.0 * 1024 * 1024},
      {"Ti", 1024.0 * 1024 * 1024 * 1024},
  }};
  std::vector<std::pair<double, std::string_view>> readings = {{1.0, unit}};
  for (const auto& [prefix, factor] : kPrefixes) {
    if (unit.size() > prefix.size() && unit.substr(0, prefix.size()) == prefix) {
      readings.emplace_back(factor, unit.substr(prefix.size()));
    }
  }
  return readings;
}

Status BadRule(std::string message) {
  return InvalidArgument(std::move(message), Reason::kInvalidAcceptRule);
}

// "1GiB" and the canonical "1073741824" are the same value.
bool SameValue(const std::string& written, const std::string& canonical) {
  if (written == canonical) return true;
  const Result<int64_t> left = ParseBytes(written);
  const Result<int64_t> right = ParseInteger(canonical);
  return left.ok() && right.ok() && *left == *right;
}

// Refuses a rule whose limit in percent of the spec sheet could never be computed.
Status CheckPercentOfSpec(const v1::BenchmarkSchema& schema, const v1::MetricSchema& metric) {
  if (schema.resource() != v1::RESOURCE_KIND_GPU) {
    return BadRule(fmt::format(
        "only GPUs have a spec sheet, and {} runs on {}; write a number, for example {}.{} >= 1 {}",
        schema.name(), schema.resource() == v1::RESOURCE_KIND_NETWORK ? "the network" : "CPUs",
        schema.name(), metric.name(), metric.unit()));
  }
  if (metric.direction() == v1::DIRECTION_LOWER_IS_BETTER) {
    return BadRule(fmt::format(
        "a percentage of spec needs a rate, and lower is better for {}; use the metric of a rate, "
        "or write a number, for example {}.{} <= 1 {}",
        metric.name(), schema.name(), metric.name(), metric.unit()));
  }
  return Status::Ok();
}

Status CheckParameters(const AcceptRule& rule, const v1::BenchmarkSchema& schema) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<ParameterSpec> specs, schema::ParameterSpecs(schema));
  std::vector<std::string> names;
  for (const ParameterSpec& spec : specs) names.push_back(spec.name);
  for (const auto& [name, value] : rule.parameters) {
    const auto spec = std::find_if(specs.begin(), specs.end(),
                                   [&, &n = name](const ParameterSpec& s) { return s.name == n; });
    if (spec == specs.end()) {
      return BadRule(fmt::format("{} has no parameter {}; {}", schema.name(), Quote(name),
                                 Suggest(name, names)));
    }
    if (const auto canonical = CanonicalValue(*spec, value); !canonical.ok()) {
      return BadRule(name + ": " + canonical.status().message());
    }
  }
  return Status::Ok();
}

}  // namespace

bool AcceptRule::Holds(double value, double limit) const {
  switch (comparison) {
    case Comparison::kAtLeast:
      return value >= limit;
    case Comparison::kAtMost:
      return value <= limit;
    case Comparison::kAbove:
      return value > limit;
    case Comparison::kBelow:
      return value < limit;
  }
  return false;
}

Result<AcceptRule> ParseAcceptRule(std::string_view text) {
  if (text.size() > kMaxRuleBytes) {
    return BadRule(
        fmt::format("the rule has {} bytes; the limit is {}", text.size(), kMaxRuleBytes));
  }
  return RuleParser(text).Parse();
}

Status CheckAcceptRule(const AcceptRule& rule, const v1::BenchmarkSchema& schema,
                       const std::vector<ParameterMap>* cases) {
  std::vector<std::string> names;
  const v1::MetricSchema* metric = nullptr;
  for (const v1::MetricSchema& known : schema.metrics()) {
    names.push_back(known.name());
    if (known.name() == rule.metric) metric = &known;
  }
  if (metric == nullptr) {
    return BadRule(fmt::format("{} has no metric {}; {}", schema.name(), Quote(rule.metric),
                               Suggest(rule.metric, names)));
  }
  if (rule.percent_of_spec) {
    ASSAY_RETURN_IF_ERROR(CheckPercentOfSpec(schema, *metric));
  } else if (rule.baseline.empty() && !rule.spread && !UnitFactor(rule.unit, metric->unit())) {
    return BadRule(rule.unit.empty() ? fmt::format("the number needs a unit: {} {}", rule.threshold,
                                                   metric->unit())
                                     : fmt::format("cannot convert {} to {}, the unit of {}",
                                                   Quote(rule.unit), metric->unit(), rule.metric));
  }
  ASSAY_RETURN_IF_ERROR(CheckParameters(rule, schema));
  if (cases != nullptr && std::none_of(cases->begin(), cases->end(), [&](const auto& parameters) {
        return Covers(rule, parameters);
      })) {
    return BadRule("no case of " + schema.name() + " in this campaign has these parameter values");
  }
  return Status::Ok();
}

bool Covers(const AcceptRule& rule, const ParameterMap& parameters) {
  return std::all_of(rule.parameters.begin(), rule.parameters.end(), [&](const auto& wanted) {
    const auto found = parameters.find(wanted.first);
    return found != parameters.end() && SameValue(wanted.second, found->second);
  });
}

std::optional<double> UnitFactor(std::string_view from, std::string_view to) {
  for (const auto& [from_factor, from_base] : Readings(from)) {
    for (const auto& [to_factor, to_base] : Readings(to)) {
      if (from_base == to_base) return from_factor / to_factor;
    }
  }
  return std::nullopt;
}

}  // namespace assay::campaign
