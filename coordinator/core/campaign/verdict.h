// What the accept rules say of an ended campaign.
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

// What people call a GPU: "GPU 3" from its UUID; the UUID itself if it is unknown.
using GpuNames = std::function<std::string(const std::string& uuid)>;

// Every run's median has to satisfy each rule that covers it; a rule without results
// has failed, and so has `% of spec` over one on a GPU without a spec sheet. The campaign
// passed if every rule held and every job succeeded or was skipped.
CampaignVerdict Judge(const v1::Campaign& campaign, const std::vector<v1::StoredResult>& results,
                      const GpuNames& gpu_names);

// One rule over all results; the explanation names the deciding number and its place.
v1::RuleVerdict JudgeRule(const std::string& rule, const std::vector<v1::StoredResult>& results,
                          const GpuNames& gpu_names);

}  // namespace assay::coordinator
