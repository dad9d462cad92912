// Opaque page tokens: where the last page ended.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace assay::storage
