// Renders groups of results, and the best results per hardware. No I/O.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/result_service.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// Groups of results. The values of each group are those of `fields`.
struct GroupedResults {
  std::vector<std::string> fields;
  std::vector<v1::ResultGroup> groups;
};

// Sorts the groups of results of each case by median, best first. Groups without a median come
// last. Groups of the same case must be adjacent, as they are in the coordinator's response.
void SortBestFirst(std::vector<v1::ResultGroup>& groups);

// Renders one row per group: its median, its range, and how many results, nodes and GPUs it has.
// The column "VS BEST" compares the group's median with the best median of the same case. If all
// groups have the same case, a line above the table names it.
std::string GroupsTable(const GroupedResults& grouped, const Style& style);

// Renders one row per group: its best result and where that was measured.
std::string BestTable(const GroupedResults& grouped, const Style& style);

std::string GroupsCsv(const GroupedResults& grouped);
std::string GroupsJson(const GroupedResults& grouped);

}  // namespace assay::cli
