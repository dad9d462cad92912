// Pages of lists, and their opaque tokens, which encode where a page ended.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"

namespace assay {

// One page of a list, in the list's order.
template <typename T>
struct Page {
  std::vector<T> items;
  std::string next_token;  // Opaque; empty on the last page.
};

struct PageRequest {
  int size = 100;     // A page may have fewer items, see kMaxPageBytes.
  std::string token;  // The next_token of the page before; empty for the first page.
};

// Makes the token for `position`. `kind` is a character per list, so that the token of one list is
// invalid for another.
std::string MakePageToken(char kind, int64_t position);

// Returns the position in `token`, or `first` if it is empty. INVALID_ARGUMENT for a token that
// MakePageToken did not make for this kind.
Result<int64_t> ParsePageToken(char kind, const std::string& token, int64_t first);

// Returns the largest number of items of a page: `request.size` within 1 and 10,000, or 100 if it
// is below 1.
int PageSize(const PageRequest& request);

// A page or a message ends once it has this many bytes, because many clients refuse more than
// 4 MiB and the evidence of one failed job may be 64 KiB.
inline constexpr size_t kMaxPageBytes = 2 << 20;

// Builds a page from a list of messages that are read in order.
template <typename T>
class PageFiller {
 public:
  PageFiller(char kind, const PageRequest& request) : kind_(kind), size_(PageSize(request)) {}

  // Adds the item at `position` of the list. Returns false if the page was full already: the item
  // belongs to the next page.
  bool Add(T item, int64_t position) {
    if (static_cast<int>(page_.items.size()) == size_ || bytes_ >= kMaxPageBytes) {
      page_.next_token = MakePageToken(kind_, last_);
      return false;
    }
    bytes_ += item.ByteSizeLong();
    page_.items.push_back(std::move(item));
    last_ = position;
    return true;
  }

  Page<T> Take() && { return std::move(page_); }

 private:
  const char kind_;
  const int size_;
  Page<T> page_;
  size_t bytes_ = 0;
  int64_t last_ = 0;  // Position of the last item.
};

}  // namespace assay
