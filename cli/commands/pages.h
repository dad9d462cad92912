// Reads paged listings.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/commands/client.h"
#include "cli/views/output.h"

namespace assay::cli {

inline constexpr int kNoLimit = 0;
inline constexpr int kPageSize = 1000;

// Return the items of one page.
inline auto& ItemsOf(v1::ListCampaignsResponse& page) { return *page.mutable_campaigns(); }
inline auto& ItemsOf(v1::ListJobsResponse& page) { return *page.mutable_jobs(); }
inline auto& ItemsOf(v1::ListNodesResponse& page) { return *page.mutable_nodes(); }
inline auto& ItemsOf(v1::ListResultsResponse& page) { return *page.mutable_results(); }
inline auto& ItemsOf(v1::ListRegressionsResponse& page) { return *page.mutable_regressions(); }
inline auto& ItemsOf(v1::ListIdentitiesResponse& page) { return *page.mutable_identities(); }

template <typename Page>
using Items = std::vector<
    typename std::remove_reference_t<decltype(ItemsOf(std::declval<Page&>()))>::value_type>;

// Calls `method` for one page after another and passes each page to `use`. Stops after the last
// page or after `limit` items (kNoLimit for all). If `use` returns an error, stops and returns it.
template <typename Stub, typename Request, typename Response, typename Use>
Status ForEachPage(Client& client,
                   grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                   Request request, int limit, Use use) {
  int missing = limit;
  while (true) {
    request.set_page_size(limit == kNoLimit ? kPageSize : std::min(missing, kPageSize));
    ASSAY_ASSIGN_OR_RETURN(Response page, client.Call(method, request));
    auto& items = ItemsOf(page);
    if (limit != kNoLimit && items.size() > missing) {
      items.DeleteSubrange(missing, items.size() - missing);
    }
    missing -= items.size();
    const std::string next = page.next_page_token();
    ASSAY_RETURN_IF_ERROR(use(page));
    if (limit != kNoLimit && missing <= 0) return Status::Ok();
    // If the server returned the same token again, this would loop forever.
    if (next.empty() || next == request.page_token()) return Status::Ok();
    request.set_page_token(next);
  }
}

// Returns the items of all pages, see ForEachPage.
template <typename Stub, typename Request, typename Response>
Result<Items<Response>> CollectPages(Client& client,
                                     grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                  const Request&, Response*),
                                     const Request& request, int limit = kNoLimit) {
  Items<Response> all;
  ASSAY_RETURN_IF_ERROR(ForEachPage(client, method, request, limit, [&all](Response& page) {
    for (auto& item : ItemsOf(page)) all.push_back(std::move(item));
    return Status::Ok();
  }));
  return all;
}

// Formats a JSON array with one message per line.
template <typename Message>
std::string ToJsonArray(const std::vector<Message>& messages) {
  JsonArray array;
  std::string json;
  for (const Message& message : messages) json += array.Add(message);
  return json + array.Finish();
}

}  // namespace assay::cli
