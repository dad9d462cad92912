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

// Returns `environment` without the versions of drivers and libraries, so that it describes only
// the hardware (CaseIdentity::hardware). If there are GPUs, also omits the CPU model, because GPUs
// are compared across hosts with different CPUs.
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

// Returns the error for a caller whose term as scheduler has ended.
Status AnotherScheduler();

// Returns INVALID_ARGUMENT if the beginning of an id is too short.
Status CheckIdPrefix(const std::string& prefix);
// Returns the index of the finding whose id the user abbreviated as `prefix`. `ids` are the ids
// that start with `prefix`. Prefers an exact match. Otherwise, returns NOT_FOUND if `ids` is empty,
// and INVALID_ARGUMENT if it contains more than one id.
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
// Convert a position in a list of regressions to the text from which PageFiller makes page tokens,
// and a page token back to a position. An empty token represents the start of the list, where the
// newest regression is.
std::string PositionText(const RegressionPosition& position);
Result<RegressionPosition> ParsePosition(const std::string& token);

// Merges the outliers of a place (GPUs or nodes) in several benchmark cases into one outlier per
// kind. Sorts the result by number of cases, and the cases of each outlier by deviation, both in
// descending order. `judged_counts` maps the PlaceKey of each place to the number of cases in which
// it could be compared with others.
std::vector<v1::Outlier> MergeOutliers(const std::vector<v1::Outlier>& outliers,
                                       const std::map<std::string, int>& judged_counts);

}  // namespace assay::storage
