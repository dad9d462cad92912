#include "cli/views/drain_progress.h"

#include <vector>

#include "cli/views/format.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr size_t kMostJobIds = 4;

std::string JobsText(const v1::Node& node) {
  return Counted(node.job_ids_size(), "job still runs", "jobs still run") + " on node " +
         node.description().name() + ": " +
         JoinSome({node.job_ids().begin(), node.job_ids().end()}, kMostJobIds);
}

std::string LostText(const v1::Node& node) {
  return "its agent is disconnected, and was last seen " + FormatTime(node.last_heartbeat_time());
}

}  // namespace

DrainProgress::Step DrainProgress::Apply(const v1::Node& node, Duration elapsed) {
  const std::string name = "node " + node.description().name();
  const bool lost = node.state() != v1::NODE_STATE_CONNECTED;
  if (!node.cordon().has_drain_deadline()) {
    return {Sanitize("the drain of " + name + " was ended: it is " +
                     (node.has_cordon() ? "only cordoned now" : "no longer cordoned")),
            End::kFailed};
  }
  if (node.job_ids().empty()) {
    if (!lost || !ran_jobs_) return {Sanitize(name + " is empty"), End::kEmpty};
    return {Sanitize(name + " is empty for the coordinator, but " + LostText(node) +
                     ": processes of its jobs may run there for some minutes more"),
            End::kFailed};
  }
  ran_jobs_ = true;
  std::string text = JobsText(node);
  if (lost) text += "; " + LostText(node);
  if (elapsed > deadline_ + kGrace) {
    return {Sanitize(text + ", although the deadline has passed: does a coordinator schedule the "
                            "fleet?"),
            End::kFailed};
  }
  if (text == said_) return {};
  said_ = text;
  return {Sanitize(text), End::kNone};
}

}  // namespace assay::cli
