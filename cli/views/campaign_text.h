// Functions that describe a campaign: which nodes it covers, which of its jobs are waiting for
// nodes, and which benchmark cases are left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"

namespace assay::cli {

// Describes queued jobs that are waiting for absent nodes, for example "3 jobs wait for node g3
// (disconnected since 2026-11-21 08:30:05)". Names at most three nodes. Replaces control
// characters.
std::string WaitingText(const v1::WaitingJobs& waiting);

// Says that a campaign is paused, since when and by whom, and how to resume it. Empty if it is not.
std::string PausedText(const v1::Campaign& campaign);

// Returns WaitingText for the first four of `waiting`, then one line with the number of other jobs.
std::vector<std::string> WaitingLines(const std::vector<v1::WaitingJobs>& waiting);

// Returns "12 jobs with 40 cases".
std::string SizeText(const v1::Campaign& campaign);

// Returns the number of cases that the campaign leaves out, without placements and repetitions.
int64_t LeftOutCases(const v1::Campaign& campaign);

// Describes which nodes a campaign covers, for example "  Nodes: 12 of 13 matching nodes; absent:
// g31". Names at most 20 nodes and replaces control characters. Wraps lines at `width` columns, or
// not at all if `width` is 0. Returns an empty string if the coverage is unknown.
std::string CoverageText(const v1::Campaign& campaign, int width);

// Describes how many times the campaign was rerun, and which jobs the last rerun queued. Wraps
// lines at `width` columns, or not at all if `width` is 0. Returns an empty string if there was no
// rerun.
std::string RerunText(const v1::Campaign& campaign, int width);

// Names the schedule that created the campaign. Returns an empty string if a user did.
std::string ScheduleOriginText(const v1::Campaign& campaign, int width);

// Describes the cases (benchmarks with parameters) that a campaign leaves out because too few nodes
// can run them. The first line gives their number. The next lines give some of the reasons, with
// the affected benchmarks and their lines in the campaign file. Replaces control characters. Wraps
// lines at `width` columns, or not at all if `width` is 0. Returns an empty string if no case is
// left out.
std::string LeftOutText(const v1::Campaign& campaign, int width);

}  // namespace assay::cli
