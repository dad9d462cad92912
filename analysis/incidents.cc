#include "analysis/incidents.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace assay::analysis {
namespace {

using Members = std::vector<size_t>;

// The progress of grouping steps (lasting changes in performance) into incidents: the steps not yet
// in any incident, and the incidents found so far.
class Grouping {
 public:
  explicit Grouping(const std::vector<SteppedCase>& steps)
      : steps_(steps), taken_(steps.size(), false) {}

  std::vector<IncidentGroup> Group() {
    GroupByVersion(CauseKind::kDriver, &SteppedCase::driver_before, &SteppedCase::driver_after);
    GroupByVersion(CauseKind::kAgent, &SteppedCase::agent_before, &SteppedCase::agent_after);
    GroupByNode();
    GroupByCase();
    std::stable_sort(groups_.begin(), groups_.end(), [](const auto& x, const auto& y) {
      return std::pair(x.kind, x.members[0]) < std::pair(y.kind, y.members[0]);
    });
    return std::move(groups_);
  }

 private:
  using Keys = std::function<std::vector<std::string>(const SteppedCase&)>;

  void Add(CauseKind kind, std::string from, std::string to, Members members) {
    for (const size_t i : members) taken_[i] = true;
    std::sort(members.begin(), members.end());
    groups_.push_back({kind, std::move(from), std::move(to), std::move(members)});
  }

  void GroupByVersion(CauseKind kind, std::string SteppedCase::*before,
                      std::string SteppedCase::*after) {
    std::map<std::pair<std::string, std::string>, Members> changes;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const std::string& from = steps_[i].*before;
      const std::string& to = steps_[i].*after;
      if (!taken_[i] && !from.empty() && !to.empty() && from != to) {
        changes[{from, to}].push_back(i);
      }
    }
    for (auto& [versions, members] : changes) {
      Add(kind, versions.first, versions.second, std::move(members));
    }
  }

  // Returns groups of the steps that are not in any incident yet. The steps of a group share a key,
  // such as a node, and overlap in time, either directly or through other steps of the group.
  std::vector<std::pair<std::string, Members>> Overlapping(const Keys& keys_of) const {
    std::map<std::string, Members> by_key;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (taken_[i]) continue;
      for (const std::string& key : keys_of(steps_[i])) by_key[key].push_back(i);
    }
    std::vector<std::pair<std::string, Members>> groups;
    for (auto& [key, members] : by_key) {
      std::stable_sort(members.begin(), members.end(), [&](size_t x, size_t y) {
        return steps_[x].last_good_time < steps_[y].last_good_time;
      });
      double end = -std::numeric_limits<double>::infinity();
      for (const size_t i : members) {
        const bool joins =
            !groups.empty() && groups.back().first == key &&
            (steps_[i].last_good_time < end ||
             steps_[i].last_good_time == steps_[groups.back().second.back()].last_good_time);
        if (!joins) {
          groups.push_back({key, {}});
          end = steps_[i].time;
        }
        groups.back().second.push_back(i);
        end = std::max(end, steps_[i].time);
      }
    }
    return groups;
  }

  size_t CountCases(const Members& members) const {
    std::set<std::string> cases;
    for (const size_t i : members) cases.insert(steps_[i].case_id);
    return cases.size();
  }

  size_t CountGpuSets(const Members& members) const {
    std::set<std::vector<std::string>> sets;
    for (const size_t i : members) sets.insert(steps_[i].gpus);
    return sets.size();
  }

  // Returns the GPU that is involved in more of the steps `members` than any other, along with
  // those steps. Returns an empty pair if the GPU is involved in no more than half of `members`, or
  // if its steps are all of a single case.
  std::pair<std::string, Members> FindGpu(const Members& members) const {
    std::map<std::string, Members> by_gpu;
    for (const size_t i : members) {
      for (const std::string& gpu : steps_[i].gpus) by_gpu[gpu].push_back(i);
    }
    std::pair<std::string, Members> most;
    bool only = false;
    for (const auto& [gpu, of_gpu] : by_gpu) {
      if (of_gpu.size() < most.second.size()) continue;
      only = of_gpu.size() > most.second.size();
      most = {gpu, of_gpu};
    }
    if (!only || 2 * most.second.size() <= members.size() || CountCases(most.second) < 2) return {};
    return most;
  }

  bool HasSeveralGpus(const Members& members) const {
    const bool in_one = std::any_of(members.begin(), members.end(),
                                    [&](size_t i) { return steps_[i].gpus.size() > 1; });
    return in_one || CountGpuSets(members) > 1;
  }

  // Finds the cause of the steps (performance changes) of each node: one GPU that is involved in
  // most of them or, failing that, the node itself. Either is blamed only if several benchmark
  // cases have steps, because a single case may also have slowed down on other nodes.
  void GroupByNode() {
    const auto nodes = [](const SteppedCase& step) { return step.nodes; };
    size_t before = 0;
    do {
      before = groups_.size();
      auto groups = Overlapping(nodes);
      std::erase_if(groups, [&](const auto& group) { return CountCases(group.second) < 2; });
      std::stable_sort(groups.begin(), groups.end(), [](const auto& x, const auto& y) {
        return x.second.size() > y.second.size();
      });
      for (const auto& [node, members] : groups) AddNodeOrGpu(node, members);
      // A pass may leave some steps without an incident, so repeat it until it finds no more
      // incidents.
    } while (groups_.size() > before);
  }

  void AddNodeOrGpu(const std::string& node, const Members& members) {
    const bool taken =
        std::any_of(members.begin(), members.end(), [&](size_t i) { return taken_[i]; });
    if (taken) return;
    if (auto [gpu, of_gpu] = FindGpu(members); !of_gpu.empty()) {
      Add(CauseKind::kGpu, "", gpu, std::move(of_gpu));
    } else if (HasSeveralGpus(members) || steps_[members[0]].gpus.empty()) {
      Add(CauseKind::kNode, "", node, members);
    }
  }

  void GroupByCase() {
    const auto cases = [](const SteppedCase& step) { return std::vector{step.case_id}; };
    for (auto& [case_id, members] : Overlapping(cases)) {
      const std::vector<std::string>& nodes = steps_[members[0]].nodes;
      const bool one_node = std::all_of(members.begin(), members.end(), [&](size_t i) {
        return steps_[i].nodes == nodes && nodes.size() == 1;
      });
      if (one_node && members.size() > 1 && CountGpuSets(members) > 1) {
        Add(CauseKind::kNode, "", nodes[0], std::move(members));
      } else {
        Add(CauseKind::kCase, "", case_id, std::move(members));
      }
    }
  }

  const std::vector<SteppedCase>& steps_;
  std::vector<bool> taken_;
  std::vector<IncidentGroup> groups_;
};

}  // namespace

std::vector<IncidentGroup> GroupIncidents(const std::vector<SteppedCase>& steps) {
  return Grouping(steps).Group();
}

}  // namespace assay::analysis
