// What a campaign leaves out because no matching node can take it, for people.
#pragma once

#include <cstdint>
#include <string>

#include "assay/v1/campaign_service.pb.h"

namespace assay::cli {

// Cases that are left out, without placements and repetitions.
int64_t LeftOutCases(const v1::Campaign& campaign);

// "  Left out: 12 cases that no matching node can take", then a line for each reason and
// below it the benchmarks with their lines in the file; printable, wrapped at `width`
// (0: not). Empty if nothing is left out. Tells the first few reasons, and how many more
// there are.
std::string LeftOutText(const v1::Campaign& campaign, int width);

}  // namespace assay::cli
