// Judges a campaign's results by its accept rules.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "assay/v1/analysis.pb.h"
#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/result_service.pb.h"

namespace assay::campaign {

struct CampaignVerdict {
  v1::Verdict verdict = v1::VERDICT_FAILED;
  std::vector<v1::RuleVerdict> rules;
};

// A function that returns the display name of the GPU with this UUID, such as "GPU 3", or the UUID
// itself if the GPU is unknown.
using GpuNames = std::function<std::string(const std::string& uuid)>;

// The facts, other than results, that rules need.
struct VerdictContext {
  GpuNames gpu_names;
  // The baselines that the rules name, by name, with their cases.
  std::map<std::string, v1::Baseline> baselines = {};
};

// Returns the verdict on a finished campaign (a set of benchmark jobs with accept rules). The
// campaign passes if all its rules hold and no job failed or was cancelled. A rule holds if the
// median of each result to which it applies is within its limit. It fails if there are no such
// results, if a required spec sheet is missing, or if a required baseline is missing or lacks the
// case.
CampaignVerdict Judge(const v1::Campaign& campaign, const std::vector<v1::StoredResult>& results,
                      const VerdictContext& context);

// Evaluates one accept rule on all results of a campaign. The verdict includes an explanation with
// the worst value and where it was measured. The explanation also names the cases that have no
// value and, if the rule fails, those that violate it.
v1::RuleVerdict JudgeRule(const std::string& rule, const std::vector<v1::StoredResult>& results,
                          const VerdictContext& context);

}  // namespace assay::campaign
