// Renders the verdict of a campaign for other programs: JUnit XML and Markdown. No I/O.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"

namespace assay::cli {

// Returns a JUnit XML document with one test case per accept rule and one per failed job. Includes
// an explanation of each failed rule. Marks rules as skipped if the campaign has not ended.
std::string CampaignJunit(const v1::Campaign& campaign, const std::vector<v1::Job>& jobs);

// Returns Markdown for a comment on a pull request: a headline, a table of the accept rules, and a
// table of the failed jobs, of which at most 20 are listed.
std::string CampaignMarkdown(const v1::Campaign& campaign, const std::vector<v1::Job>& jobs);

}  // namespace assay::cli
