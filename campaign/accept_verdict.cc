#include "campaign/accept_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "campaign/accept_rule.h"
#include "common/text.h"

namespace assay::campaign {
namespace {

bool IsCovered(const AcceptRule& rule, const v1::CaseResult& result) {
  return result.benchmark() == rule.benchmark &&
         Covers(rule, ParameterMap(result.parameters().begin(), result.parameters().end()));
}

bool HasMetric(const AcceptRule& rule, const v1::CaseResult& result) {
  return result.outcome() == v1::CASE_OUTCOME_OK && result.measurements_size() == 1 &&
         result.measurements(0).metric() == rule.metric;
}

// Short names for the cases (sets of parameter values of a benchmark) that one rule covers. Names
// include only the parameters in which these cases differ, such as "m=256 dtype=bf16".
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

// Adds `name` unless the list contains it already. Names stay in the order of their first results.
void AddOnce(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

// Returns a text such as "; cases m=256, m=512 and 7 more", or an empty text if there are no names.
std::string Listed(const std::string& title, const std::vector<std::string>& names) {
  constexpr size_t kMostCases = 5;
  return names.empty() ? "" : "; " + title + " " + JoinSome(names, kMostCases);
}

// Returns the result as a percentage of the baseline value (the stored value for the same case).
// Returns nullopt if the rule's baseline does not exist or has no value for the case.
std::optional<double> PercentOfBaseline(const AcceptRule& rule, const v1::StoredResult& stored,
                                        const VerdictContext& context) {
  const auto baseline = context.baselines.find(rule.baseline);
  if (baseline == context.baselines.end()) return std::nullopt;
  for (const v1::BaselineCase& one : baseline->second.cases()) {
    if (one.case_().lineage_id() != stored.lineage_id() || !(one.median() > 0)) continue;
    return stored.case_result().measurements(0).median() / one.median() * 100.0;
  }
  return std::nullopt;
}

// Returns the value to compare with the rule's limit, in the rule's unit. Returns nullopt if the
// result has no such value, for example because the GPU has no spec sheet.
std::optional<double> ValueOf(const AcceptRule& rule, const v1::StoredResult& stored,
                              const VerdictContext& context) {
  const v1::CaseResult& result = stored.case_result();
  if (!rule.baseline.empty()) return PercentOfBaseline(rule, stored, context);
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

// The judgment of one rule on the results of a campaign.
class RuleJudge {
 public:
  RuleJudge(AcceptRule rule, const std::vector<v1::StoredResult>& results,
            const VerdictContext& context)
      : rule_(std::move(rule)), results_(results), context_(context) {
    for (const v1::StoredResult& stored : results_) {
      if (IsCovered(rule_, stored.case_result())) names_.Add(stored.case_result());
    }
  }

  void Judge(v1::RuleVerdict& verdict) {
    std::vector<const v1::StoredResult*> measured;
    for (const v1::StoredResult& stored : results_) {
      const v1::CaseResult& result = stored.case_result();
      if (!IsCovered(rule_, result)) continue;
      NoteMissing(result);
      if (HasMetric(rule_, result)) measured.push_back(&stored);
    }
    verdict.set_results_checked(static_cast<int>(measured.size()));
    if (rule_.spread) return JudgeSpread(measured, verdict);
    for (const v1::StoredResult* stored : measured) {
      const std::optional<double> value = ValueOf(rule_, *stored, context_);
      if (!value && !rule_.baseline.empty()) {
        NoteUnjudged(*stored, context_.baselines.contains(rule_.baseline)
                                  ? "not in baseline " + rule_.baseline + " on this hardware"
                                  : "there is no baseline " + rule_.baseline + " any more");
        continue;
      }
      if (!value || !std::isfinite(*value)) return verdict.set_explanation(WhyNoValue(*stored));
      Compare(*stored, *value);
    }
    Finish(worst_ == nullptr ? "" : Describe(*worst_, context_.gpu_names) + OfBaseline(), "result",
           verdict);
  }

 private:
  void NoteMissing(const v1::CaseResult& result) {
    if (result.outcome() == v1::CASE_OUTCOME_FAILED) {
      AddOnce(without_value_, names_.Of(result) + " (failed)");
    } else if (result.outcome() == v1::CASE_OUTCOME_UNSUPPORTED) {
      AddOnce(without_value_, names_.Of(result) + " (unsupported)");
    }
  }

  // Records a case that cannot be judged, which makes the rule fail.
  void NoteUnjudged(const v1::StoredResult& stored, const std::string& why) {
    AddOnce(without_value_, names_.Of(stored.case_result()) + " (" + why + ")");
    unjudged_ = true;
  }

  std::string WhyNoValue(const v1::StoredResult& stored) const {
    if (rule_.percent_of_spec) return NoPercentage(rule_, stored, context_.gpu_names);
    return "the unit does not fit: " + Describe(stored, context_.gpu_names);
  }

  void Compare(const v1::StoredResult& stored, double value) {
    ++checked_;
    if (!rule_.Holds(value, rule_.threshold)) {
      ++failing_;
      if (names_.several()) AddOnce(failing_cases_, names_.Of(stored.case_result()));
    }
    const bool worse = rule_.WantsLarge() ? value < worst_value_ : value > worst_value_;
    if (worst_ != nullptr && !worse) return;
    worst_ = &stored;
    worst_value_ = value;
  }

  // Compares the results of each case with each other.
  void JudgeSpread(const std::vector<const v1::StoredResult*>& measured, v1::RuleVerdict& verdict) {
    std::map<std::string, std::vector<const v1::StoredResult*>> cases;  // By lineage.
    for (const v1::StoredResult* stored : measured) cases[stored->lineage_id()].push_back(stored);
    for (auto& [lineage, results] : cases) {
      std::sort(results.begin(), results.end(),
                [](const auto* a, const auto* b) { return MedianOf(*a) < MedianOf(*b); });
      if (results.size() < 2) {
        NoteUnjudged(*results.front(), "one result has no spread");
        continue;
      }
      const double middle =
          (MedianOf(*results[(results.size() - 1) / 2]) + MedianOf(*results[results.size() / 2])) /
          2;
      const double spread = MedianOf(*results.back()) - MedianOf(*results.front());
      if (middle > 0) Compare(*results.front(), spread / middle * 100.0);
    }
    std::string worst;
    if (worst_ != nullptr) {
      const std::vector<const v1::StoredResult*>& results = cases[worst_->lineage_id()];
      worst = fmt::format("spread {:.1f}%: from {} to {}", worst_value_,
                          Describe(*results.front(), context_.gpu_names),
                          Describe(*results.back(), context_.gpu_names));
    }
    Finish(worst, "case", verdict);
  }

  static double MedianOf(const v1::StoredResult& stored) {
    return stored.case_result().measurements(0).median();
  }

  std::string OfBaseline() const {
    return rule_.baseline.empty()
               ? ""
               : fmt::format(", {:.1f}% of baseline {}", worst_value_, rule_.baseline);
  }

  void Finish(const std::string& worst, const char* unit, v1::RuleVerdict& verdict) const {
    const std::string missing = Listed("no value for", without_value_);
    if (worst_ == nullptr) {
      return verdict.set_explanation((unjudged_ ? "no result can be judged" : "no result matches") +
                                     missing);
    }
    if (failing_ == 0 && !unjudged_) verdict.set_verdict(v1::VERDICT_PASSED);
    const std::string count = failing_ == 0
                                  ? ""
                                  : fmt::format("{} of {} {}; ", failing_, Counted(checked_, unit),
                                                Plural(failing_, "fails", "fail"));
    verdict.set_explanation(
        count + "worst " + worst +
        Listed(Plural(static_cast<int64_t>(failing_cases_.size()), "case"), failing_cases_) +
        missing);
  }

  const AcceptRule rule_;
  const std::vector<v1::StoredResult>& results_;
  const VerdictContext& context_;
  CaseNames names_;
  int checked_ = 0;
  int failing_ = 0;
  bool unjudged_ = false;
  std::vector<std::string> failing_cases_;
  std::vector<std::string> without_value_;
  const v1::StoredResult* worst_ = nullptr;
  double worst_value_ = 0;
};

}  // namespace

v1::RuleVerdict JudgeRule(const std::string& text, const std::vector<v1::StoredResult>& results,
                          const VerdictContext& context) {
  v1::RuleVerdict verdict;
  verdict.set_rule(text);
  verdict.set_verdict(v1::VERDICT_FAILED);
  Result<AcceptRule> rule = ParseAcceptRule(text);
  if (!rule.ok()) {
    verdict.set_explanation(rule.status().message());
    return verdict;
  }
  RuleJudge(*std::move(rule), results, context).Judge(verdict);
  return verdict;
}

CampaignVerdict Judge(const v1::Campaign& campaign, const std::vector<v1::StoredResult>& results,
                      const VerdictContext& context) {
  CampaignVerdict outcome;
  bool passed = campaign.jobs().failed() == 0 && campaign.jobs().cancelled() == 0 &&
                campaign.state() != v1::CAMPAIGN_STATE_CANCELLED;
  for (const v1::AcceptRule& rule : campaign.spec().accept()) {
    outcome.rules.push_back(JudgeRule(rule.text(), results, context));
    passed = passed && outcome.rules.back().verdict() == v1::VERDICT_PASSED;
  }
  outcome.verdict = passed ? v1::VERDICT_PASSED : v1::VERDICT_FAILED;
  return outcome;
}

}  // namespace assay::campaign
