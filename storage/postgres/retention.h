// Deletes old data.
#pragma once

#include <cstdint>
#include <optional>

#include "common/clock.h"
#include "common/status.h"
#include "storage/postgres/pool.h"

namespace assay::storage {

// Ages after which data are deleted. Absent: never.
struct Retention {
  std::optional<Duration> results;
  std::optional<Duration> samples;
};

// Agents keep a result whose job is unknown for seven days. A job must be known for longer.
inline constexpr Duration kMinRetention = std::chrono::hours(24 * 14);

struct Retired {
  int64_t partitions = 0;
  int64_t campaigns = 0;
  int64_t samples = 0;
};

// Deletes old data in many short transactions:
// - partitions of results, if both their month and all campaigns with results in them ended more
//   than `results` ago;
// - campaigns that ended more than `results` ago, with their jobs and case results, once all their
//   results are deleted;
// - samples older than the shorter of `results` and `samples`, except in active campaigns;
// - schemas that no node has.
Result<Retired> Retire(Pool& pool, const Retention& retention);

}  // namespace assay::storage
