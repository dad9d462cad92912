// Splits long lists into pages. Clients request the next page with an opaque token, which encodes
// where the previous page ended.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"

namespace assay {

// One page of a list. Items are in the list's order.
template <typename T>
struct Page {
  std::vector<T> items;
  std::string next_token;  // Opaque; empty on the last page.
};

// The size in bytes at which a page or a streamed message is considered full. Many clients reject
// messages above 4 MiB. This limit is lower because the last item on a page may exceed it, and
// items may be large.
inline constexpr size_t kMaxPageBytes = 2 << 20;

struct PageRequest {
  int size = 100;     // A page may have fewer items, see `bytes`.
  std::string token;  // The next_token of the page before; empty for the first page.
  size_t bytes = kMaxPageBytes;
};

// Returns a page token that encodes `position`. Each list has its own `kind`, so that other lists
// reject its tokens.
std::string MakePageToken(char kind, int64_t position);

// Returns the position that `token` encodes, or `first` if the token is empty. Returns
// INVALID_ARGUMENT if the token was not made by MakePageToken() for the same `kind`.
Result<int64_t> ParsePageToken(char kind, const std::string& token, int64_t first);

// Like ParsePageToken(), but for lists sorted by a text that is unique to each item, such as a
// name, rather than by position. Returns the text of the last item on the previous page, or "" if
// the token is empty.
Result<std::string> ParseTextToken(char kind, const std::string& token);

// Returns the maximum number of items on a page: `request.size`, capped at 10,000, or 100 if
// `request.size` is below 1.
int PageSize(const PageRequest& request);

// Builds a page from the items of a list, protobuf messages, which are added in the list's order.
template <typename T>
class PageFiller {
 public:
  PageFiller(char kind, const PageRequest& request)
      : kind_(kind), size_(PageSize(request)), most_bytes_(request.bytes) {}

  // Adds the item at `position` of the list. If the page is full, returns false without adding the
  // item, which is then left for the next page.
  bool Add(T item, int64_t position) { return Add(std::move(item), std::to_string(position)); }
  // Like the other Add(), but for lists that are sorted by a text that is unique to each item.
  bool Add(T item, std::string text) {
    if (static_cast<int>(page_.items.size()) == size_ || bytes_ >= most_bytes_) {
      page_.next_token = kind_ + last_;
      return false;
    }
    bytes_ += item.ByteSizeLong();
    page_.items.push_back(std::move(item));
    last_ = std::move(text);
    return true;
  }

  Page<T> Take() && { return std::move(page_); }

 private:
  const char kind_;
  const int size_;
  const size_t most_bytes_;
  Page<T> page_;
  size_t bytes_ = 0;
  std::string last_;  // Position or text of the last item.
};

}  // namespace assay
