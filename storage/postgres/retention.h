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
// - partitions of results, if their month is older than `results` and all campaigns with results
//   in it ended before that too;
// - such campaigns with jobs and case results, once none of their results is left;
// - samples older than the smaller age, but not those of active campaigns;
// - schemas that no node has.
Result<Retired> Retire(Pool& pool, const Retention& retention);

}  // namespace assay::storage
