#include "coordinator/core/gang_wait.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "common/units.h"
#include "coordinator/core/text.h"

namespace assay::coordinator {
namespace {

// "rank 1 on node g2", "ranks 8 to 15 on node g2".
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

const GangWait::Node* FirstLate(const GangWait& wait) {
  const auto late = std::find_if(wait.nodes.begin(), wait.nodes.end(),
                                 [](const GangWait::Node& node) { return !node.ready; });
  return late == wait.nodes.end() ? nullptr : &*late;
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
