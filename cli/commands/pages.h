// Reads paged listings.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/commands/client.h"
#include "cli/views/output.h"

namespace assay::cli {

inline constexpr int kNoLimit = 0;
inline constexpr int kPageSize = 1000;

// The items of one page.
inline auto& ItemsOf(v1::ListCampaignsResponse& page) { return *page.mutable_campaigns(); }
inline auto& ItemsOf(v1::ListJobsResponse& page) { return *page.mutable_jobs(); }
inline auto& ItemsOf(v1::ListNodesResponse& page) { return *page.mutable_nodes(); }
inline auto& ItemsOf(v1::ListResultsResponse& page) { return *page.mutable_results(); }

template <typename Page>
using Items = std::vector<
    typename std::remove_reference_t<decltype(ItemsOf(std::declval<Page&>()))>::value_type>;

// Calls `method` until the last page or until `limit` items are read (kNoLimit: all).
template <typename Stub, typename Request, typename Response>
Result<Items<Response>> CollectPages(Client& client,
                                     grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                  const Request&, Response*),
                                     Request request, int limit = kNoLimit) {
  Items<Response> all;
  const auto wanted = static_cast<size_t>(limit);
  while (true) {
    const size_t missing = limit == kNoLimit ? kPageSize : wanted - all.size();
    request.set_page_size(static_cast<int>(std::min<size_t>(missing, kPageSize)));
    ASSAY_ASSIGN_OR_RETURN(Response page, client.Call(method, request));
    for (auto& item : ItemsOf(page)) all.push_back(std::move(item));
    if (limit != kNoLimit && all.size() >= wanted) {
      all.resize(wanted);
      return all;
    }
    // If the server returned the same token again, this would loop forever.
    if (page.next_page_token().empty() || page.next_page_token() == request.page_token())
      return all;
    request.set_page_token(page.next_page_token());
  }
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
