// Page requests as they come from users (AIP-158).
#pragma once

#include <algorithm>
#include <string>

#include "common/status.h"
#include "storage/types.h"

namespace assay::coordinator::rpc {

// `page_size` 0 means `normal`; more than the limit of 10,000 means the limit; less is
// an error. Tokens are judged by whoever made them.
inline Result<storage::PageRequest> ToPageRequest(int page_size, const std::string& token,
                                                  int normal) {
  constexpr int kMost = 10'000;
  constexpr size_t kMaxTokenBytes = 4096;
  if (page_size < 0) {
    return InvalidArgument("page_size is " + std::to_string(page_size) +
                           "; it is 0 or from 1 to 10000");
  }
  if (token.size() > kMaxTokenBytes) return InvalidArgument("page_token is none of ours");
  return storage::PageRequest{page_size == 0 ? normal : std::min(page_size, kMost), token};
}

// The id or name in a request; empty or absurdly long ones are refused.
inline Status CheckReference(const std::string& field, const std::string& value) {
  constexpr size_t kMaxBytes = 512;
  if (!value.empty() && value.size() <= kMaxBytes) return Status::Ok();
  return InvalidArgument(field + (value.empty() ? " is missing; give an id or a name"
                                                : " is longer than any id or name"));
}

}  // namespace assay::coordinator::rpc
