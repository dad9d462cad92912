// Applies a campaign's accept rules to its results once it has ended.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/result_service.pb.h"

namespace assay::coordinator {

struct CampaignVerdict {
  v1::Verdict verdict = v1::VERDICT_FAILED;
  std::vector<v1::RuleVerdict> rules;
};

// Returns the name that users know a GPU by: "GPU 3" for its UUID, or the UUID itself if it is
// unknown.
using GpuNames = std::function<std::string(const std::string& uuid)>;

// Judges an ended campaign. Every run's median must satisfy each rule that covers its case. A rule
// without results fails, and so does `% of spec` for a GPU without a spec sheet. The campaign
// passes if every rule holds and every job succeeded or was skipped.
CampaignVerdict Judge(const v1::Campaign& campaign, const std::vector<v1::StoredResult>& results,
                      const GpuNames& gpu_names);

// Judges one rule over all results. The explanation names the deciding number and its place.
v1::RuleVerdict JudgeRule(const std::string& rule, const std::vector<v1::StoredResult>& results,
                          const GpuNames& gpu_names);

}  // namespace assay::coordinator
