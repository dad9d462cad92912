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

// Reads the rule from left to right.
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
    if (Take("%")) {
      if (!Take("of") || !Take("spec")) return Expected("\"of spec\"");
      rule_.percent_of_spec = true;
      return Status::Ok();
    }
    rule_.unit = TakeWhile([](char c) { return c != ' ' && c != '\t'; });
    return Status::Ok();
  }

  const std::string_view text_;
  size_t at_ = 0;
  AcceptRule rule_;
};

// Returns the ways to read a unit: the factor of a prefix, and the unit after that prefix.
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

// Refuses a percentage of the spec sheet that could never be computed.
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

bool IsCovered(const AcceptRule& rule, const v1::CaseResult& result) {
  return result.benchmark() == rule.benchmark &&
         Covers(rule, ParameterMap(result.parameters().begin(), result.parameters().end()));
}

bool HasMetric(const AcceptRule& rule, const v1::CaseResult& result) {
  return result.outcome() == v1::CASE_OUTCOME_OK && result.measurements_size() == 1 &&
         result.measurements(0).metric() == rule.metric;
}

// Names cases by the parameters in which the cases of one rule differ.
class CaseNames {
 public:
  void Add(const v1::CaseResult& result) {
    for (const auto& [name, value] : result.parameters()) values_[name].insert(value);
  }

  // Returns whether the rule covers cases with different parameters.
  bool several() const {
    return std::any_of(values_.begin(), values_.end(),
                       [](const auto& one) { return one.second.size() > 1; });
  }

  // Returns "m=256 dtype=bf16", or "its only case".
  std::string Of(const v1::CaseResult& result) const {
    std::vector<std::string> parts;
    for (const auto& [name, values] : values_) {
      if (values.size() < 2) continue;
      const auto own = result.parameters().find(name);
      parts.push_back(name + "=" + (own == result.parameters().end() ? "" : own->second));
    }
    return parts.empty() ? "its only case" : Join(parts, " ");
  }

 private:
  std::map<std::string, std::set<std::string>> values_;  // By parameter.
};

// Adds `name` unless it is listed. Names stay in the order of their first results.
void AddOnce(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

// Returns "; cases m=256, m=512 and 7 more", or an empty text for no names.
std::string Listed(const std::string& title, const std::vector<std::string>& names) {
  constexpr size_t kMostCases = 5;
  return names.empty() ? "" : "; " + title + " " + JoinSome(names, kMostCases);
}

// Returns the number that the rule compares, in the rule's unit; nullopt if the result has none.
std::optional<double> ValueOf(const AcceptRule& rule, const v1::CaseResult& result) {
  if (rule.percent_of_spec) {
    if (!result.prediction().has_efficiency_spec()) return std::nullopt;
    return result.prediction().efficiency_spec() * 100.0;
  }
  const v1::Measurement& measurement = result.measurements(0);
  const std::optional<double> factor = UnitFactor(measurement.unit(), rule.unit);
  if (!factor) return std::nullopt;
  return measurement.median() * *factor;
}

std::string PlaceOf(const v1::Provenance& provenance, const GpuNames& gpu_names) {
  std::vector<std::string> nodes(provenance.node_names().begin(), provenance.node_names().end());
  std::vector<std::string> gpus;
  for (const std::string& uuid : provenance.gpu_uuids()) gpus.push_back(gpu_names(uuid));
  std::string place = nodes.empty() ? "" : (nodes.size() == 1 ? " on node " : " on nodes ");
  place += JoinSome(nodes);
  return gpus.empty() ? place : place + ", " + JoinSome(gpus);
}

std::string Describe(const v1::StoredResult& stored, const GpuNames& gpu_names) {
  const v1::CaseResult& result = stored.case_result();
  std::string text =
      fmt::format("{:.6g} {}", result.measurements(0).median(), result.measurements(0).unit());
  if (result.prediction().has_efficiency_spec()) {
    text += fmt::format(" ({:.1f}% of spec)", result.prediction().efficiency_spec() * 100.0);
  }
  return text + PlaceOf(result.provenance(), gpu_names);
}

// Explains to the user why a rule with a limit in `% of spec` cannot be evaluated: either the GPU
// has no spec sheet, or the sheet has no peak rate for this case. Suggests an absolute limit
// instead.
std::string NoPercentage(const AcceptRule& rule, const v1::StoredResult& stored,
                         const GpuNames& gpu_names) {
  const v1::CaseResult& result = stored.case_result();
  const std::string& model = result.environment().gpu_model();
  const size_t number = rule.text.find_first_not_of("<>= \t", rule.text.find_first_of("<>"));
  return fmt::format(
      "cannot be judged for {}: there is no spec sheet of {}, or it has no peak for this case; "
      "write a number, for example {}{:.6g} {}",
      Describe(stored, gpu_names), model.empty() ? "its GPU" : "GPU \"" + model + "\"",
      rule.text.substr(0, number), result.measurements(0).median(), result.measurements(0).unit());
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
  } else if (!UnitFactor(rule.unit, metric->unit())) {
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

v1::RuleVerdict JudgeRule(const std::string& text, const std::vector<v1::StoredResult>& results,
                          const GpuNames& gpu_names) {
  v1::RuleVerdict verdict;
  verdict.set_rule(text);
  verdict.set_verdict(v1::VERDICT_FAILED);
  const Result<AcceptRule> rule = ParseAcceptRule(text);
  if (!rule.ok()) {
    verdict.set_explanation(rule.status().message());
    return verdict;
  }
  CaseNames names;
  for (const v1::StoredResult& stored : results) {
    if (IsCovered(*rule, stored.case_result())) names.Add(stored.case_result());
  }
  int checked = 0;
  int failing = 0;
  std::vector<std::string> failing_cases;
  std::vector<std::string> without_value;
  const v1::StoredResult* worst = nullptr;
  double worst_value = 0;
  for (const v1::StoredResult& stored : results) {
    const v1::CaseResult& result = stored.case_result();
    if (!IsCovered(*rule, result)) continue;
    if (result.outcome() == v1::CASE_OUTCOME_FAILED) {
      AddOnce(without_value, names.Of(result) + " (failed)");
    } else if (result.outcome() == v1::CASE_OUTCOME_UNSUPPORTED) {
      AddOnce(without_value, names.Of(result) + " (unsupported)");
    }
    if (!HasMetric(*rule, result)) continue;
    ++checked;
    const std::optional<double> value = ValueOf(*rule, result);
    if (!value || !std::isfinite(*value)) {
      verdict.set_explanation(rule->percent_of_spec
                                  ? NoPercentage(*rule, stored, gpu_names)
                                  : "the unit does not fit: " + Describe(stored, gpu_names));
      verdict.set_results_checked(checked);
      return verdict;
    }
    if (!rule->Holds(*value, rule->threshold)) {
      ++failing;
      if (names.several()) AddOnce(failing_cases, names.Of(result));
    }
    if (worst == nullptr || (rule->WantsLarge() ? *value < worst_value : *value > worst_value)) {
      worst = &stored;
      worst_value = *value;
    }
  }
  verdict.set_results_checked(checked);
  const std::string missing = Listed("no value for", without_value);
  if (worst == nullptr) {
    verdict.set_explanation("no result matches" + missing);
    return verdict;
  }
  if (failing == 0) verdict.set_verdict(v1::VERDICT_PASSED);
  const std::string count = failing == 0
                                ? ""
                                : fmt::format("{} of {} {}; ", failing, Counted(checked, "result"),
                                              Plural(failing, "fails", "fail"));
  verdict.set_explanation(
      count + "worst " + Describe(*worst, gpu_names) +
      Listed(Plural(static_cast<int64_t>(failing_cases.size()), "case"), failing_cases) + missing);
  return verdict;
}

CampaignVerdict Judge(const v1::Campaign& campaign, const std::vector<v1::StoredResult>& results,
                      const GpuNames& gpu_names) {
  CampaignVerdict outcome;
  bool passed = campaign.jobs().failed() == 0 && campaign.jobs().cancelled() == 0 &&
                campaign.state() != v1::CAMPAIGN_STATE_CANCELLED;
  for (const v1::AcceptRule& rule : campaign.spec().accept()) {
    outcome.rules.push_back(JudgeRule(rule.text(), results, gpu_names));
    passed = passed && outcome.rules.back().verdict() == v1::VERDICT_PASSED;
  }
  outcome.verdict = passed ? v1::VERDICT_PASSED : v1::VERDICT_FAILED;
  return outcome;
}

}  // namespace assay::campaign
