// What keeps the jobs of a campaign from starting, for people.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"

namespace assay::cli {

// "3 jobs wait for node g3 (gone since 2026-11-21 08:30:05)" or "1 job waits for 1 of the
// nodes g1 (removed from the fleet), g2 (...)", printable; names the first few nodes.
std::string WaitingText(const v1::WaitingJobs& waiting);

// A line each of the first few, and how many more jobs wait.
std::vector<std::string> WaitingLines(const std::vector<v1::WaitingJobs>& waiting);

}  // namespace assay::cli
