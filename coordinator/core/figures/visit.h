// Reads results and jobs page by page.
#pragma once

#include <functional>
#include <string>

#include "common/status.h"
#include "coordinator/core/environment.h"

namespace assay::coordinator {

// Calls `visit` for each result that matches `filter`, until `visit` returns false or has been
// called `most` times. The results contain no samples. Returns the number of matching results not
// visited, capped at kMaxCountedResults.
Result<int> VisitResults(const Environment& environment, const std::string& filter,
                         const std::string& order, int most,
                         const std::function<bool(const v1::StoredResult&)>& visit);

// Calls `visit` for every job of a campaign, in the order of creation.
Status VisitJobs(const Environment& environment, const std::string& campaign_id,
                 const std::function<void(const v1::Job&)>& visit);

// Returns `limit`, or `normal` if `limit` is 0. Returns INVALID_ARGUMENT if `limit` is negative
// or above `most`.
Result<int> LimitOf(int limit, int normal, int most);

// Returns `text` as a value for a filter, in quotation marks.
std::string FilterText(const std::string& text);

}  // namespace assay::coordinator
