// A gang's ranks, for people and programs.
#pragma once

#include <string>

#include "runner/json.h"
#include "runner/rank_times.h"

namespace assay {

// Lines of the report's table; empty if there is nothing to tell.
std::string GangLines(const GangReport& gang);

// Adds "rank_times", "slow_rank" and "collective" to a report, as far as they are known.
void AddGang(const GangReport& gang, JsonObject* report);

}  // namespace assay
