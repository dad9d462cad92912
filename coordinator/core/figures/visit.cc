#include "coordinator/core/figures/visit.h"

#include <algorithm>

namespace assay::coordinator {
namespace {

// Maximum size of a page of results or jobs. Larger pages would be truncated, so the limit is high
// enough that no page reaches it.
constexpr size_t kPageBytes = 64 << 20;
constexpr int kResultsPerPage = 2500;
constexpr int kJobsPerPage = 5000;

}  // namespace

Result<int> VisitResults(const Environment& environment, const std::string& filter,
                         const std::string& order, int most,
                         const std::function<bool(const v1::StoredResult&)>& visit) {
  PageRequest request{kResultsPerPage, "", kPageBytes};
  for (int left = most; left > 0; left -= request.size) {
    request.size = std::min(left, kResultsPerPage);
    ASSAY_ASSIGN_OR_RETURN(const storage::ResultPage page,
                           environment.results.List(filter, request, order));
    for (auto result = page.items.begin(); result != page.items.end(); ++result) {
      if (visit(*result)) continue;
      const auto unvisited = static_cast<int>(page.items.end() - result);
      return std::min(page.remaining + unvisited, storage::kMaxCountedResults);
    }
    if (page.next_token.empty() || left <= request.size) return page.remaining;
    request.token = page.next_token;
  }
  return 0;
}

Status VisitJobs(const Environment& environment, const std::string& campaign_id,
                 const std::function<void(const v1::Job&)>& visit) {
  PageRequest request{kJobsPerPage, "", kPageBytes};
  do {
    ASSAY_ASSIGN_OR_RETURN(const Page<v1::Job> page,
                           environment.jobs.ListJobs(campaign_id, request));
    for (const v1::Job& job : page.items) visit(job);
    request.token = page.next_token;
  } while (!request.token.empty());
  return Status::Ok();
}

Result<int> LimitOf(int limit, int normal, int most) {
  if (limit >= 0 && limit <= most) return limit == 0 ? normal : limit;
  return InvalidArgument("limit is " + std::to_string(limit) + "; it must be 0 or from 1 to " +
                         std::to_string(most));
}

std::string FilterText(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace assay::coordinator
