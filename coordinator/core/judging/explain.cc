#include "coordinator/core/judging/explain.h"

#include <algorithm>
#include <vector>

#include "analysis/explanations.h"
#include "common/text.h"
#include "coordinator/core/judging/histories.h"
#include "coordinator/core/judging/records.h"
#include "coordinator/core/judging/reruns.h"
#include "storage/analysis_rules.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

// Number of runs before the step, and after it, whose conditions are read.
constexpr size_t kRunsRead = 3;

analysis::RunConditions ConditionsOf(const v1::CaseResult& result) {
  analysis::RunConditions found;
  const v1::Conditions& conditions = result.conditions();
  if (conditions.has_sm_clock_mhz()) found.numbers["sm_clock_mhz"] = conditions.sm_clock_mhz();
  if (conditions.has_memory_clock_mhz()) {
    found.numbers["memory_clock_mhz"] = conditions.memory_clock_mhz();
  }
  if (conditions.has_power_watts()) found.numbers["power_watts"] = conditions.power_watts();
  if (conditions.has_temperature_celsius()) {
    found.numbers["temperature_celsius"] = conditions.temperature_celsius();
  }
  if (conditions.has_other_gpu_processes()) {
    found.numbers["other_gpu_processes"] = conditions.other_gpu_processes();
  }
  if (conditions.has_load_average()) found.numbers["load_average"] = conditions.load_average();
  if (!conditions.throttle_reasons().empty()) {
    found.texts["throttle_reason"] = Join(conditions.throttle_reasons(), ", ");
  }
  if (!result.kernels().empty()) found.texts["gpu.kernel"] = Join(result.kernels(), ", ");
  if (!result.collective().algorithm().empty()) {
    found.texts["collective.algorithm"] = Join(
        std::vector<std::string>{result.collective().algorithm(), result.collective().protocol()},
        " ");
  }
  return found;
}

Result<std::vector<analysis::RunConditions>> Read(const Environment& environment,
                                                  const std::vector<std::string>& result_ids) {
  std::vector<analysis::RunConditions> read;
  for (const std::string& id : result_ids) {
    const Result<v1::StoredResult> stored = environment.results.Get(id);
    if (stored.status().code() == Code::kNotFound) continue;
    if (!stored.ok()) return stored.status();
    read.push_back(ConditionsOf(stored->case_result()));
  }
  return read;
}

}  // namespace

Status ExplainRegression(const Environment& environment, v1::Regression& one) {
  ASSAY_ASSIGN_OR_RETURN(const storage::Runs runs,
                         environment.analysis.ListRunsOfLineage(one.case_().lineage_id(),
                                                                static_cast<int>(kRunsPerPlace)));
  std::vector<std::string> before, after;
  const WallTime time = schema::FromTimestamp(one.step().time());
  for (const History& history : SortIntoHistories(runs)) {
    if (history.place_key != storage::PlaceKey(one.place())) continue;
    for (const storage::Run* run : history.used) {
      if (run->end_time < time) before.push_back(run->result_id);
      if (run->end_time >= time && after.size() < kRunsRead) after.push_back(run->result_id);
    }
  }
  if (before.size() > kRunsRead) before.erase(before.begin(), before.end() - kRunsRead);
  ASSAY_ASSIGN_OR_RETURN(const std::vector<analysis::RunConditions> good,
                         Read(environment, before));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<analysis::RunConditions> bad, Read(environment, after));
  one.clear_explanations();
  for (const analysis::ConditionChange& change : analysis::ExplainStep(good, bad)) {
    v1::Explanation& added = *one.add_explanations();
    added.set_field(change.field);
    if (change.before) added.set_before(*change.before);
    if (change.after) added.set_after(*change.after);
    added.set_text_before(change.text_before);
    added.set_text_after(change.text_after);
  }
  return Status::Ok();
}

}  // namespace assay::coordinator
