#include "coordinator/core/attempts/gang_wait.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "common/text.h"
#include "common/units.h"

namespace assay::coordinator {
namespace {

// Names ranks and their node: "rank 1 on node g2", "ranks 8 to 15 on node g2".
std::string RanksOf(const GangWait& wait, size_t position) {
  const int each = wait.job.job.world_size / static_cast<int>(wait.nodes.size());
  const int first = static_cast<int>(position) * each;
  const std::string& name = wait.nodes[position].name;
  if (each <= 1) return fmt::format("rank {} on node {}", first, name);
  return fmt::format("ranks {} to {} on node {}", first, first + each - 1, name);
}

}  // namespace

std::string DescribeWait(const GangWait& wait) {
  std::vector<std::string> late;
  std::vector<std::string> ready;
  for (size_t i = 0; i < wait.nodes.size(); ++i) {
    const GangWait::Node& node = wait.nodes[i];
    const std::string ranks = RanksOf(wait, i);
    if (node.ready) {
      ready.push_back(fmt::format("{} (for {})", ranks, FormatDuration(*node.ready)));
    } else if (node.spoke) {
      late.push_back(fmt::format("{} (its agent spoke of the job {} ago)", ranks,
                                 FormatDuration(*node.spoke)));
    } else {
      late.push_back(ranks + " (its agent has not spoken of the job)");
    }
  }
  return fmt::format(
      "{}{} of the gang's {} nodes did not say within {} that {} ready: {}; {}",
      wait.adopted ? "the coordinator changed while the gang began, and not all heard of it; " : "",
      late.size(), wait.nodes.size(), FormatDuration(wait.waited),
      late.size() == 1 ? "it is" : "they are", JoinSome(late),
      ready.empty() ? "none was ready" : "ready: " + JoinSome(ready));
}

std::vector<std::string> LateNodes(const GangWait& wait) {
  std::vector<std::string> late;
  for (const GangWait::Node& node : wait.nodes) {
    if (!node.ready) late.push_back(node.node_id);
  }
  return late;
}

std::string WhyLate(const GangWait& wait) {
  std::vector<std::string> silent;
  std::vector<std::string> busy;
  for (const GangWait::Node& node : wait.nodes) {
    if (!node.ready) (node.spoke ? busy : silent).push_back(node.name);
  }
  std::vector<std::string> why;
  if (busy.size() == 1) {
    why.push_back(busy[0] +
                  " has the job, and its ranks did not start: it may be busy with a benchmark that "
                  "somebody started on it");
  } else if (!busy.empty()) {
    why.push_back(JoinSome(busy) +
                  " have the job, and their ranks did not start: they may be busy with benchmarks "
                  "that somebody started on them");
  }
  if (!silent.empty()) why.push_back(JoinSome(silent) + " did not take the job");
  return Join(why, "; ");
}

bool OthersWereQuick(const GangWait& wait) {
  std::optional<Duration> slowest;
  for (const GangWait::Node& node : wait.nodes) {
    if (!node.ready) continue;
    slowest = std::max(slowest.value_or(Duration(0)), wait.waited - *node.ready);
  }
  return slowest && 2 * *slowest < wait.waited;
}

}  // namespace assay::coordinator
