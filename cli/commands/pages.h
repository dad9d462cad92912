// Reading listings to their end, page by page.
#pragma once

#include <algorithm>
#include <vector>

#include "cli/commands/client.h"
#include "cli/views/output.h"

namespace assay::cli {

inline constexpr int kNoLimit = 0;
inline constexpr int kPageSize = 1000;

// Calls `method` until no page follows or `limit` items are there (kNoLimit for
// all). `items` gives a page's repeated field.
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
    // The same token again would never end.
    if (page.next_page_token().empty() || page.next_page_token() == request.page_token())
      return all;
    request.set_page_token(page.next_page_token());
  }
}

// A JSON array, one message a line.
template <typename Message>
std::string ToJsonArray(const std::vector<Message>& messages) {
  JsonArray array;
  std::string json;
  for (const Message& message : messages) json += array.Add(message);
  return json + array.Finish();
}

}  // namespace assay::cli
