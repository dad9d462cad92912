// Makes the records of findings from histories.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/steps.h"
#include "common/status.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/judging/histories.h"

namespace assay::coordinator {

// Number of runs by which the detected position of a step (a lasting change) may be off. Steps no
// further apart than this are considered the same step.
inline constexpr size_t kSameStepRuns = 2;

// Returns the steps (lasting changes) of a history. Step::first is an index into `history.used`. A
// step less than kSegmentRuns away from a driver change is moved to that change.
std::vector<analysis::Step> StepsOf(const storage::Runs& runs, const History& history);

// Returns the record of a step, without first_point.
v1::HistoryStep StepMessage(const storage::Runs& runs, const History& history,
                            const analysis::Step& step);

// Returns the parameters of a case as text, to sort by.
std::string CaseText(const v1::CaseIdentity& identity);

// Returns a UUID that is derived from `text`, so that making a record twice yields the same record.
std::string RecordId(std::string_view text);

// The positions of GPUs in their nodes.
class PlaceIndices {
 public:
  static Result<PlaceIndices> Read(const Environment& environment);

  // Sets place.gpu_indices if all GPUs are known.
  void Complete(v1::Place& place) const;

 private:
  std::map<std::string, int> indices_;  // By UUID.
};

}  // namespace assay::coordinator
