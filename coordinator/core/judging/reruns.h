// Confirms regressions by running their cases again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/analysis.pb.h"
#include "common/status.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/judging/histories.h"
#include "coordinator/core/judging/incident_records.h"

namespace assay::coordinator {

// Number of runs of a place, the newest ones, that are judged.
inline constexpr size_t kRunsPerPlace = 60;

// The reruns that show whether a regression is real. For each incident (a group of regressions with
// a common cause) not yet confirmed, the largest regression is rerun three to nine times at its
// place. If these runs are slow too, as many follow at a peer, a place that has not regressed. If
// the cause is a new driver at three places or more, no reruns are needed, because each place is
// compared with itself before the change. Reruns make up at most Options::rerun_share of all runs,
// plus one per hour. Not thread-safe.
//
//   DETECTED --reruns as slow--> CONFIRMED, all regressions of the incident, with a scope
//           \--reruns as fast as before--> CLEARED, this regression alone
class Reruns {
 public:
  // Creates an object that calls `kick` after queueing jobs for reruns. All arguments must outlive
  // this object.
  Reruns(const Environment& environment, const Options& options, std::function<void()> kick);

  // Reads the results of reruns that have finished, confirms or clears regressions in `open`, and
  // starts further reruns. Each of the `new_runs`, the runs since the last call, adds
  // Options::rerun_share to the number of reruns that may start.
  Status Continue(const std::vector<IncidentMembers>& incidents, size_t new_runs,
                  std::vector<v1::Regression>& open);

 private:
  // The evidence about a regression's place and its peer.
  struct Known;

  Status ContinueOne(const IncidentMembers& incident, size_t index, bool has_new_runs,
                     std::vector<v1::Regression>& open);
  // Confirms the regression at `index` and all steps of its incident.
  void Confirm(const IncidentMembers& incident, size_t index, v1::RegressionScope scope,
               std::vector<v1::Regression>& open) const;
  // Reads the result of the regression's latest rerun, if that rerun has finished. Returns true if
  // no rerun is in progress.
  Result<bool> TakeRerun(v1::Regression& one);
  Result<Known> Read(const v1::Regression& one, const std::vector<v1::Regression>& open);
  // Returns true if the case of `one` is slower with an incident's new driver than with the old
  // one. Compares the runs with either driver at all places.
  Result<bool> DriverRegressed(const IncidentMembers& incident, const v1::Regression& one) const;
  // Starts a rerun of the run that produced this result.
  Status Begin(const std::string& result_id, bool peer, v1::Regression& one);

  const Environment& environment_;
  const Options& options_;
  const std::function<void()> kick_;
  // The number of reruns that may begin, and the time at which it was last increased.
  double credit_;
  MonotonicTime credited_at_;
};

}  // namespace assay::coordinator
