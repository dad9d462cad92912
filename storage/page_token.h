// Pages of lists, and their opaque tokens: where the last page ended.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "common/status.h"
#include "storage/types.h"

namespace assay::storage {

// `kind` keeps a token of one list from being used with another.
std::string MakePageToken(char kind, int64_t position);

// The position in `token`, `first` if it is empty. INVALID_ARGUMENT for anything
// that MakePageToken did not make for this kind.
Result<int64_t> ParsePageToken(char kind, const std::string& token, int64_t first);

// How many items a page may have: 1 to 10,000; `request.size` if that is between,
// 100 if it is below 1.
int PageSize(const PageRequest& request);

// With so many bytes a page or message has enough, whatever was asked for: many clients take
// 4 MiB at once, and the evidence of a single job that failed may be 64 KiB.
inline constexpr size_t kEnoughPageBytes = 2 << 20;

// One page of a list of messages, in the list's order.
template <typename T>
class PageFiller {
 public:
  PageFiller(char kind, const PageRequest& request) : kind_(kind), size_(PageSize(request)) {}

  // False if the page has what was asked for, or enough: `item` is of the next page then.
  // The token of that says the `position` of the last item that was added.
  bool Add(T item, int64_t position) {
    if (static_cast<int>(page_.items.size()) == size_ || bytes_ >= kEnoughPageBytes) {
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
  int64_t last_ = 0;
};

}  // namespace assay::storage
