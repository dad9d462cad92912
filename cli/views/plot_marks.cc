#include "cli/views/plot_marks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/statistics.h"
#include "cli/views/case_text.h"
#include "common/text.h"
#include "wire/timestamps.h"

namespace assay::cli {
namespace {

constexpr size_t kMostSteps = 9;
constexpr size_t kMostDrivers = 5;
constexpr size_t kMostAnnotations = 10;

// Steps of several places at about the same time.
struct StepGroup {
  const v1::HistoryStep* first = nullptr;
  const v1::Place* place = nullptr;
  std::vector<double> ratios;
};

bool ChangesDriver(const v1::HistoryStep& step) {
  return step.driver_before() != step.driver_after() && !step.driver_after().empty();
}

std::vector<StepGroup> GroupSteps(const CaseHistory& places, double resolution) {
  std::vector<StepGroup> groups;
  for (const v1::PlaceHistory* history : places) {
    for (const v1::HistoryStep& step : history->steps()) {
      const auto same = [&](const StepGroup& group) {
        return (group.first->ratio() < 1) == (step.ratio() < 1) &&
               std::fabs(SecondsOf(group.first->time()) - SecondsOf(step.time())) < resolution;
      };
      auto known = std::find_if(groups.begin(), groups.end(), same);
      if (known == groups.end()) {
        known = groups.insert(groups.end(), {&step, &history->place(), {}});
      }
      known->ratios.push_back(step.ratio());
    }
  }
  std::stable_sort(groups.begin(), groups.end(), [](const StepGroup& a, const StepGroup& b) {
    return SecondsOf(a.first->time()) < SecondsOf(b.first->time());
  });
  return groups;
}

std::string StepText(const StepGroup& group) {
  const size_t count = group.ratios.size();
  const std::string change = ChangeText(analysis::MedianOf(group.ratios));
  std::string text = count == 1 ? change + " on " + PlaceText(*group.place)
                                : change + " on " + std::to_string(count) + " places (median)";
  if (ChangesDriver(*group.first)) {
    text += ", driver " + ArrowText(group.first->driver_before(), group.first->driver_after());
  }
  return text;
}

void AddDrivers(const CaseHistory& places, const std::vector<StepGroup>& steps, double resolution,
                std::vector<PlotMark>& marks) {
  std::map<std::pair<std::string, std::string>, std::pair<double, int>> changes;
  for (const v1::PlaceHistory* history : places) {
    const v1::HistoryPoint* before = nullptr;
    for (const v1::HistoryPoint& point : history->points()) {
      if (before != nullptr && before->driver_version() != point.driver_version() &&
          !before->driver_version().empty() && !point.driver_version().empty()) {
        const double time = SecondsOf(point.end_time());
        auto& [first, count] = changes[{before->driver_version(), point.driver_version()}];
        first = count == 0 ? time : std::min(first, time);
        ++count;
      }
      before = &point;
    }
  }
  size_t added = 0;
  for (const auto& [versions, change] : changes) {
    const double time = change.first;
    const auto shown = [&](const StepGroup& group) {
      return ChangesDriver(*group.first) && group.first->driver_after() == versions.second &&
             std::fabs(SecondsOf(group.first->time()) - time) < resolution;
    };
    if (std::any_of(steps.begin(), steps.end(), shown) || ++added > kMostDrivers) continue;
    std::string text = "driver " + ArrowText(versions.first, versions.second);
    if (change.second > 1) text += " on " + std::to_string(change.second) + " places";
    marks.push_back({time, 'D', false, text});
  }
}

}  // namespace

double SecondsOf(const google::protobuf::Timestamp& time) {
  return schema::SecondsSince1970(schema::FromTimestamp(time));
}

std::vector<PlotMark> FindPlotMarks(const CaseHistory& places,
                                    const std::vector<const v1::Annotation*>& annotations,
                                    double resolution) {
  const std::vector<StepGroup> steps = GroupSteps(places, resolution);
  std::vector<PlotMark> marks;
  for (size_t i = 0; i < std::min(steps.size(), kMostSteps); ++i) {
    marks.push_back(
        {SecondsOf(steps[i].first->time()), static_cast<char>('1' + i), true, StepText(steps[i])});
  }
  AddDrivers(places, steps, resolution, marks);
  for (size_t i = 0; i < std::min(annotations.size(), kMostAnnotations); ++i) {
    const v1::Annotation& one = *annotations[i];
    std::string text = Sanitize(one.text());
    if (!one.node_name().empty()) text += " (" + Sanitize(one.node_name()) + ")";
    marks.push_back({SecondsOf(one.time()), static_cast<char>('a' + i), false, text});
  }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const PlotMark& a, const PlotMark& b) { return a.time < b.time; });
  return marks;
}

}  // namespace assay::cli
