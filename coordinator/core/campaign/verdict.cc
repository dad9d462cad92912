#include "coordinator/core/campaign/verdict.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "common/text.h"
#include "coordinator/core/campaign/accept_rule.h"
#include "model/parameter.h"

namespace assay::coordinator {
namespace {

bool IsCovered(const AcceptRule& rule, const v1::StoredResult& stored) {
  const v1::CaseResult& result = stored.case_result();
  return result.benchmark() == rule.benchmark && result.outcome() == v1::CASE_OUTCOME_OK &&
         result.measurements_size() == 1 && result.measurements(0).metric() == rule.metric &&
         Covers(rule, ParameterMap(result.parameters().begin(), result.parameters().end()));
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

// Explains a percentage of spec that the runner could not compute (its spec sheets count), and
// suggests the rule with a number in place of the percentage.
std::string NoPercentage(const AcceptRule& rule, const v1::StoredResult& stored,
                         const GpuNames& gpu_names) {
  const v1::CaseResult& result = stored.case_result();
  const std::string& model = result.environment().gpu_model();
  const size_t number = rule.text.find_first_not_of("<>= \t", rule.text.find_first_of("<>"));
  return fmt::format(
      "cannot be judged for {}: there is no spec sheet of {}, or it has no peak for this case; "
      "write a number instead, for example {}{:.6g} {}",
      Describe(stored, gpu_names), model.empty() ? "its GPU" : "GPU \"" + model + "\"",
      rule.text.substr(0, number), result.measurements(0).median(), result.measurements(0).unit());
}

}  // namespace

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
  int checked = 0;
  const v1::StoredResult* worst = nullptr;
  double worst_value = 0;
  for (const v1::StoredResult& stored : results) {
    if (!IsCovered(*rule, stored)) continue;
    ++checked;
    const std::optional<double> value = ValueOf(*rule, stored.case_result());
    if (!value || !std::isfinite(*value)) {
      verdict.set_explanation(rule->percent_of_spec
                                  ? NoPercentage(*rule, stored, gpu_names)
                                  : "the unit does not fit: " + Describe(stored, gpu_names));
      verdict.set_results_checked(checked);
      return verdict;
    }
    if (worst == nullptr || (rule->WantsLarge() ? *value < worst_value : *value > worst_value)) {
      worst = &stored;
      worst_value = *value;
    }
  }
  verdict.set_results_checked(checked);
  if (worst == nullptr) {
    verdict.set_explanation("no result matches");
    return verdict;
  }
  if (rule->Holds(worst_value, rule->threshold)) verdict.set_verdict(v1::VERDICT_PASSED);
  verdict.set_explanation("worst " + Describe(*worst, gpu_names));
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

}  // namespace assay::coordinator
