#include "storage/analysis_rules.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "common/text.h"
#include "common/units.h"
#include "model/page.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

constexpr size_t kLeastIdPrefix = 4;

bool IsOpen(v1::RegressionState state) {
  return state == v1::REGRESSION_STATE_DETECTED || state == v1::REGRESSION_STATE_CONFIRMED;
}

bool IsAcknowledged(const v1::Regression& regression) {
  return regression.state() == v1::REGRESSION_STATE_ACKNOWLEDGED ||
         !regression.acknowledged_by().empty() || !regression.acknowledge_note().empty() ||
         regression.false_alarm();
}

}  // namespace

bool IsExcluded(const google::protobuf::RepeatedPtrField<std::string>& flags) {
  return std::find_first_of(flags.begin(), flags.end(), std::begin(kExcludingFlags),
                            std::end(kExcludingFlags)) != flags.end();
}

v1::Environment HardwareOf(const v1::Environment& environment) {
  v1::Environment hardware = environment;
  hardware.clear_driver_version();
  hardware.clear_software();
  if (hardware.gpu_count() > 0) hardware.clear_cpu_model();
  return hardware;
}

std::string PlaceKey(std::vector<std::string> node_names, std::vector<std::string> gpu_uuids) {
  std::vector<std::string>& parts = gpu_uuids.empty() ? node_names : gpu_uuids;
  std::sort(parts.begin(), parts.end());
  return Join(parts, "+");
}

std::string PlaceKey(const v1::Place& place) {
  return PlaceKey({place.node_names().begin(), place.node_names().end()},
                  {place.gpu_uuids().begin(), place.gpu_uuids().end()});
}

bool IsClosed(v1::RegressionState state) {
  return state == v1::REGRESSION_STATE_RESOLVED || state == v1::REGRESSION_STATE_CLEARED;
}

void KeepAcknowledgement(const v1::Regression& stored, v1::Regression& fresh) {
  if (!IsAcknowledged(stored)) return;
  fresh.set_acknowledged_by(stored.acknowledged_by());
  fresh.set_acknowledge_note(stored.acknowledge_note());
  fresh.set_false_alarm(stored.false_alarm());
  if (IsOpen(fresh.state())) fresh.set_state(v1::REGRESSION_STATE_ACKNOWLEDGED);
}

void KeepAcknowledgement(const v1::Incident& stored, v1::Incident& fresh) {
  if (stored.state() == v1::REGRESSION_STATE_ACKNOWLEDGED && IsOpen(fresh.state())) {
    fresh.set_state(v1::REGRESSION_STATE_ACKNOWLEDGED);
  }
}

void Acknowledge(const std::string& by, const std::string& note, bool false_alarm,
                 v1::Regression& regression) {
  regression.set_acknowledged_by(by);
  regression.set_acknowledge_note(note);
  regression.set_false_alarm(false_alarm);
  if (IsOpen(regression.state())) regression.set_state(v1::REGRESSION_STATE_ACKNOWLEDGED);
}

void Acknowledge(v1::Incident& incident) {
  if (IsOpen(incident.state())) incident.set_state(v1::REGRESSION_STATE_ACKNOWLEDGED);
}

Status AnotherScheduler() {
  return FailedPrecondition("another coordinator has become the scheduler of the fleet");
}

Status CheckIdPrefix(const std::string& prefix) {
  if (prefix.size() >= kLeastIdPrefix) return Status::Ok();
  return InvalidArgument("the id " + Quote(prefix) + " is too short; give at least " +
                         std::to_string(kLeastIdPrefix) + " characters");
}

Result<size_t> OnlyId(const std::string& prefix, const std::vector<std::string>& ids) {
  if (ids.empty()) return NotFound("no regression or incident " + Quote(prefix));
  const auto equal = std::find(ids.begin(), ids.end(), prefix);
  if (equal != ids.end()) return static_cast<size_t>(equal - ids.begin());
  if (ids.size() == 1) return size_t{0};
  return InvalidArgument("several regressions or incidents have ids that begin with " +
                         Quote(prefix))
      .WithHint("give more characters of one of " + JoinSome(ids, 5));
}

RegressionPosition PositionOf(const v1::Regression& regression) {
  const auto time = schema::FromTimestamp(regression.detected_time()).time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(time).count(),
          regression.regression_id()};
}

std::string PositionText(const RegressionPosition& position) {
  return std::to_string(position.microseconds) + " " + position.regression_id;
}

Result<RegressionPosition> ParsePosition(const std::string& token) {
  if (token.empty()) return RegressionPosition{INT64_MAX, ""};
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ParseTextToken(kRegressionPages, token));
  const size_t space = text.find(' ');
  const Result<int64_t> microseconds = ParseInteger(text.substr(0, space));
  if (space == std::string::npos || !microseconds.ok()) {
    return ParsePageToken(kRegressionPages, "?", 0).status();
  }
  return RegressionPosition{*microseconds, text.substr(space + 1)};
}

std::vector<v1::Outlier> MergeOutliers(const std::vector<v1::Outlier>& outliers,
                                       const std::map<std::string, int>& judged_counts) {
  std::map<std::pair<std::string, int>, v1::Outlier> merged;  // By place and kind.
  for (const v1::Outlier& outlier : outliers) {
    const std::string key = PlaceKey(outlier.place());
    v1::Outlier& all = merged[{key, outlier.kind()}];
    if (all.cases().empty()) {
      all = outlier;
      const auto judged = judged_counts.find(key);
      all.set_judged_count(judged == judged_counts.end() ? 0 : judged->second);
    } else {
      all.mutable_cases()->MergeFrom(outlier.cases());
    }
  }
  std::vector<v1::Outlier> sorted;
  for (auto& [key, outlier] : merged) {
    std::stable_sort(outlier.mutable_cases()->begin(), outlier.mutable_cases()->end(),
                     [](const v1::OutlierCase& a, const v1::OutlierCase& b) {
                       return std::fabs(a.z()) > std::fabs(b.z());
                     });
    sorted.push_back(std::move(outlier));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const v1::Outlier& a, const v1::Outlier& b) {
    return a.cases_size() > b.cases_size();
  });
  return sorted;
}

}  // namespace assay::storage
