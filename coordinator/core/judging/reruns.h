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

// The reruns that confirm regressions. For each incident that is not confirmed, its largest
// regression is rerun three to nine times at its place, Options::rerun_spacing apart. If these
// reruns confirm the regression, as many follow at a peer, which is a place that has not regressed.
// A new driver at three places or more needs no reruns, because each place is compared with itself
// before the change. Each rerun is a campaign with one job and one case. Reruns take at most
// Options::rerun_share of all runs, plus one rerun per hour, so that small fleets have some. Not
// thread-safe.
//
//   DETECTED --reruns as slow--> CONFIRMED, all regressions of the incident, with a scope
//           \--reruns as fast as before--> CLEARED, this regression alone
class Reruns {
 public:
  // `kick` is called after jobs for reruns have been queued. All arguments must outlive this
  // object.
  Reruns(const Environment& environment, const Options& options, std::function<void()> kick);

  // Reads the results of reruns that have ended, confirms or clears regressions, and begins further
  // reruns. Changes `open`. `new_runs` is the number of runs since the last call; each of them adds
  // Options::rerun_share to the number of reruns that may begin.
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
  // Reads the result of the regression's rerun, if that has ended. Returns true if no rerun is
  // under way.
  Result<bool> TakeRerun(v1::Regression& one);
  Result<Known> Read(const v1::Regression& one, const std::vector<v1::Regression>& open);
  // Returns true if the case of `one` has regressed between the two drivers of an incident.
  // Compares its runs with both drivers over all places.
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
