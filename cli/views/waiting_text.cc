#include "cli/views/waiting_text.h"

#include <algorithm>

#include "cli/views/format.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr size_t kMostNodes = 3;
constexpr size_t kMostLines = 4;

std::string NodeText(const v1::AbsentNode& node) {
  return node.name() + (node.has_last_heartbeat_time()
                            ? " (gone since " + FormatTime(node.last_heartbeat_time()) + ")"
                            : " (removed from the fleet)");
}

std::string JobsWait(int jobs) {
  return std::to_string(jobs) + (jobs == 1 ? " job waits" : " jobs wait");
}

}  // namespace

std::string WaitingText(const v1::WaitingJobs& waiting) {
  const int nodes = waiting.nodes_size();
  std::string text = JobsWait(waiting.jobs()) + " for ";
  if (waiting.needed() < nodes) text += std::to_string(waiting.needed()) + " of the ";
  text += nodes == 1 ? "node " : "nodes ";
  std::vector<std::string> names;
  for (const v1::AbsentNode& node : waiting.nodes()) names.push_back(NodeText(node));
  return Sanitize(text + JoinSome(names, kMostNodes));
}

std::vector<std::string> WaitingLines(const std::vector<v1::WaitingJobs>& waiting) {
  std::vector<std::string> lines;
  int more = 0;
  for (const v1::WaitingJobs& one : waiting) {
    if (lines.size() < kMostLines) {
      lines.push_back(WaitingText(one));
    } else {
      more += one.jobs();
    }
  }
  if (more > 0) lines.push_back(JobsWait(more) + " for others");
  return lines;
}

}  // namespace assay::cli
