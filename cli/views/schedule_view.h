// Renders schedules. No I/O.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/schedule_service.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// Renders one row per schedule, then why the last run of a schedule created no campaign.
std::string SchedulesText(const std::vector<v1::Schedule>& schedules, const Style& style);
std::string SchedulesCsv(const std::vector<v1::Schedule>& schedules);

// Says what was stored, or what would be, and when it runs next.
std::string ScheduleText(const v1::CreateScheduleResponse& response, const Style& style);

}  // namespace assay::cli
