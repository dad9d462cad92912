// Judges new results against the history of their cases, and keeps the records of findings.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "common/status.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/judging/prices.h"
#include "coordinator/core/judging/reruns.h"
#include "coordinator/core/leadership.h"

namespace assay::coordinator {

// The judge of new results. On the leader, each pass judges the lineages (comparable runs of one
// case) that have new results. A pass may be repeated without storing a finding twice.
//
//   new results --> histories --> steps, suspects --> regressions (DETECTED)
//                            \--> outliers, summaries for dashboards
//   regressions --> incidents --> reruns (Reruns) --> CONFIRMED or CLEARED
//
// Not thread-safe: call Pass on a single thread. Pass may block for a minute.
class Judge {
 public:
  // Creates a judge that calls `kick` after queueing jobs for reruns. All arguments must outlive
  // this object.
  Judge(const Environment& environment, const Options& options, const Leadership& leadership,
        std::function<void()> kick)
      : environment_(environment),
        leadership_(leadership),
        reruns_(environment, options, std::move(kick)) {}

  // Judges new results and continues to confirm regressions by reruns. Does nothing on a follower.
  Status Pass();

 private:
  // Judges all runs of one lineage, stores the findings, and returns the newest end of a run.
  Result<WallTime> JudgeLineage(const std::string& lineage_id, int64_t term);

  const Environment& environment_;
  const Leadership& leadership_;
  Reruns reruns_;
  // State of the current pass: the end time of the newest run judged by an earlier pass, and the
  // number of newer runs.
  WallTime judged_until_{};
  size_t new_runs_ = 0;
  std::optional<Prices> prices_;  // Read when first needed.
};

}  // namespace assay::coordinator
