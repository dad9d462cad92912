// Renders the verdict of a campaign for other programs: JUnit XML and Markdown. No I/O.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"

namespace assay::cli {

// Returns a JUnit XML document with one test case per accept rule (a condition for the campaign to
// pass) and one per failed job. Explains why rules failed. Marks rules as skipped if the campaign
// has not finished.
std::string CampaignJunit(const v1::Campaign& campaign, const std::vector<v1::Job>& jobs);

// Returns Markdown for a comment on a pull request: a headline, a table of the accept rules
// (conditions for the campaign to pass), and a table of at most 20 failed jobs.
std::string CampaignMarkdown(const v1::Campaign& campaign, const std::vector<v1::Job>& jobs);

}  // namespace assay::cli
