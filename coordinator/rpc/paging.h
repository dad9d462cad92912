// Checks page requests (AIP-158) and names in requests.
#pragma once

#include <algorithm>
#include <string>

#include "common/status.h"
#include "model/page.h"

namespace assay::coordinator::rpc {

// Returns the page request. `page_size` 0 means `normal`; values above the limit of 10,000 mean the
// limit; negative values are an error. The reader of the pages validates the token.
inline Result<PageRequest> ToPageRequest(int page_size, const std::string& token,
                                                  int normal) {
  constexpr int kMost = 10'000;
  constexpr size_t kMaxTokenBytes = 4096;
  if (page_size < 0) {
    return InvalidArgument("page_size is " + std::to_string(page_size) +
                           "; it is 0 or from 1 to 10000");
  }
  if (token.size() > kMaxTokenBytes) return InvalidArgument("page_token is none of ours");
  return PageRequest{page_size == 0 ? normal : std::min(page_size, kMost), token};
}

// Returns the id or name in a request. Empty or very long ones are an error.
inline Status CheckReference(const std::string& field, const std::string& value) {
  constexpr size_t kMaxBytes = 512;
  if (!value.empty() && value.size() <= kMaxBytes) return Status::Ok();
  return InvalidArgument(field + (value.empty() ? " is missing; give an id or a name"
                                                : " is longer than any id or name"));
}

}  // namespace assay::coordinator::rpc
