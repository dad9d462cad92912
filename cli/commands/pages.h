// Reads paged listings.
#pragma once

#include <algorithm>
#include <vector>

#include "cli/commands/client.h"
#include "cli/views/output.h"

namespace assay::cli {

inline constexpr int kNoLimit = 0;
inline constexpr int kPageSize = 1000;

// Calls `method` until the last page or until `limit` items are read (kNoLimit: all). `items`
// returns the repeated field of a page.
template <typename Item, typename Stub, typename Request, typename Response, typename Items>
Result<std::vector<Item>> CollectPages(Client& client,
                                       grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                    const Request&, Response*),
                                       Stub& stub, Request request, int limit, Items items) {
  std::vector<Item> all;
  const auto wanted = static_cast<size_t>(limit);
  while (true) {
    const size_t missing = limit == kNoLimit ? kPageSize : wanted - all.size();
    request.set_page_size(static_cast<int>(std::min<size_t>(missing, kPageSize)));
    ASSAY_ASSIGN_OR_RETURN(Response page, client.Call(method, stub, request));
    for (Item& item : *items(page)) all.push_back(std::move(item));
    if (limit != kNoLimit && all.size() >= wanted) {
      all.resize(wanted);
      return all;
    }
    // A repeated token would loop forever.
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
