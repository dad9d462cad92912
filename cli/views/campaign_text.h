// Texts about the jobs that a campaign cannot run: those that wait and those that it leaves out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"

namespace assay::cli {

// Returns "3 jobs wait for node g3 (disconnected since 2026-11-21 08:30:05)" or "1 job waits for 1
// of the nodes g1 (removed from the fleet), g2 (...)". Names at most three nodes. Printable.
std::string WaitingText(const v1::WaitingJobs& waiting);

// Returns WaitingText for the first four of `waiting`, then one line with the number of other jobs.
std::vector<std::string> WaitingLines(const std::vector<v1::WaitingJobs>& waiting);

// Returns the number of cases that the campaign leaves out, without placements and repetitions.
int64_t LeftOutCases(const v1::Campaign& campaign);

// Returns "  Left out: 12 cases that no matching node can take", then for each of the first
// reasons a line with the reason and one with its benchmarks and their lines in the file. Lines are
// printable and wrapped at `width`; 0 does not wrap. Returns an empty text if nothing is left out.
std::string LeftOutText(const v1::Campaign& campaign, int width);

}  // namespace assay::cli
