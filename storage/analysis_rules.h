// Rules that every AnalysisStore keeps.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "assay/v1/analysis.pb.h"
#include "assay/v1/analysis_service.pb.h"
#include "common/status.h"
#include "storage/analysis_store.h"

namespace assay::storage {

inline constexpr size_t kMaxListedIncidents = 1'000;
inline constexpr size_t kMaxListedAnnotations = 1'000;

// Returns whether one of the flags is in kExcludingFlags.
bool IsExcluded(const google::protobuf::RepeatedPtrField<std::string>& flags);

// Returns what CaseIdentity::hardware has of an environment: no versions, and no CPU model if there
// are GPUs (see IdentityOf).
v1::Environment HardwareOf(const v1::Environment& environment);

// Returns the sorted GPU UUIDs, or sorted node names if there are no GPUs, joined by "+".
std::string PlaceKey(std::vector<std::string> node_names, std::vector<std::string> gpu_uuids);
std::string PlaceKey(const v1::Place& place);

// Returns whether findings of this state are closed: RESOLVED or CLEARED.
bool IsClosed(v1::RegressionState state);

// Copies what people have said about the stored finding to the new version of it.
void KeepAcknowledgement(const v1::Regression& stored, v1::Regression& fresh);
void KeepAcknowledgement(const v1::Incident& stored, v1::Incident& fresh);

// Changes the state of an open finding to ACKNOWLEDGED, and stores what `by` said.
void Acknowledge(const std::string& by, const std::string& note, bool false_alarm,
                 v1::Regression& regression);
void Acknowledge(v1::Incident& incident);

// Returns the error of a scheduler that is not the current one.
Status AnotherScheduler();

// Returns INVALID_ARGUMENT if the beginning of an id is too short.
Status CheckIdPrefix(const std::string& prefix);
// Returns the index of the finding that `prefix` names: the one whose id is equal, or else the only
// one. `ids` has ids that begin with `prefix`. NOT_FOUND if there is none, INVALID_ARGUMENT if
// there are several.
Result<size_t> OnlyId(const std::string& prefix, const std::vector<std::string>& ids);

// The position of a regression in lists, which are sorted by the time of detection.
struct RegressionPosition {
  int64_t microseconds = 0;  // Since 1970.
  std::string regression_id;
  bool operator<(const RegressionPosition& other) const {
    return std::tie(microseconds, regression_id) <
           std::tie(other.microseconds, other.regression_id);
  }
};
inline constexpr char kRegressionPages = 'g';  // See MakePageToken.
RegressionPosition PositionOf(const v1::Regression& regression);
// Convert a position to the text of a PageFiller and back. No token: after all regressions.
std::string PositionText(const RegressionPosition& position);
Result<RegressionPosition> ParsePosition(const std::string& token);

// Merges outliers by place and kind, and sorts them: the place with most cases first, and the worst
// case of a place first. `judged_counts` has the number of cases with peers by PlaceKey.
std::vector<v1::Outlier> MergeOutliers(const std::vector<v1::Outlier>& outliers,
                                       const std::map<std::string, int>& judged_counts);

}  // namespace assay::storage
