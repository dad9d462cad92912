// What the hardware told beside the times, as a table. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/v1/result_service.pb.h"
#include "cli/views/result_marks.h"
#include "cli/views/table.h"

namespace assay::cli {

// A row for each case with counters; where `results` are of one case, for that in any
// event if its kernels are known, or why they are not. An empty line goes before; empty
// without rows. `varying` as by FindVarying; why a source is not the best one, or kernels have
// no names, becomes a note of `marks`.
std::string CountersTable(const std::vector<v1::StoredResult>& results,
                          const std::map<std::string, std::set<std::string>>& varying,
                          const Style& style, Marks& marks);

}  // namespace assay::cli
