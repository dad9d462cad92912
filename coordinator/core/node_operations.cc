// Implements the requests of operators that change a node: cordons, drains, labels and prices.
#include <fmt/format.h>

#include "common/log.h"
#include "common/text.h"
#include "coordinator/core/coordinator.h"
#include "wire/bounds.h"
#include "wire/durations.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

constexpr Duration kDefaultDrain = std::chrono::minutes(30);
constexpr int64_t kLongestDrainSeconds = 7 * 24 * 3600;

Status CheckReason(const std::string& reason) {
  constexpr size_t kMostBytes = 1000;
  if (reason.size() > kMostBytes) {
    return InvalidArgument(
        fmt::format("reason has {} bytes; at most {} are allowed", reason.size(), kMostBytes));
  }
  if (IsPlainText(reason)) return Status::Ok();
  return InvalidArgument("reason: write one line of text in UTF-8 without control characters");
}

Result<Duration> DrainTimeOf(const v1::DrainNodeRequest& request) {
  if (!request.has_deadline()) return kDefaultDrain;
  const google::protobuf::Duration& deadline = request.deadline();
  const bool fits = deadline.seconds() >= 0 && deadline.nanos() >= 0 &&
                    (deadline.seconds() < kLongestDrainSeconds ||
                     (deadline.seconds() == kLongestDrainSeconds && deadline.nanos() == 0));
  if (fits) return FromProto(deadline);
  return InvalidArgument("deadline: write a time from 0 s to 7 days, not " +
                         std::to_string(deadline.seconds()) + " s");
}

// Returns " by g.hopper", or nothing if the caller is unknown.
std::string By(const Identity& caller) { return caller.id.empty() ? "" : " by " + caller.id; }

std::string Because(const v1::Cordon& cordon) {
  return cordon.reason().empty() ? "" : ": " + cordon.reason();
}

}  // namespace

Result<v1::Node> Coordinator::CordonNode(const v1::CordonNodeRequest& request,
                                         const Identity& caller) {
  ASSAY_RETURN_IF_ERROR(CheckReason(request.reason()));
  ASSAY_RETURN_IF_ERROR(environment_.nodes.Cordon(
      {request.node(), request.reason(), caller.id, /*drain=*/std::nullopt}));
  ASSAY_ASSIGN_OR_RETURN(v1::Node node, GetNode(request.node()));
  Log().info("node {} was cordoned{}{}", node.description().name(), By(caller),
             Because(node.cordon()));
  watchers_.NotifyAll();
  return node;
}

Result<v1::Node> Coordinator::UncordonNode(const std::string& id_or_name, const Identity& caller) {
  ASSAY_RETURN_IF_ERROR(environment_.nodes.Uncordon(id_or_name));
  ASSAY_ASSIGN_OR_RETURN(v1::Node node, GetNode(id_or_name));
  Log().info("node {} was uncordoned{}", node.description().name(), By(caller));
  scheduler_->Kick();
  watchers_.NotifyAll();
  return node;
}

Result<v1::Node> Coordinator::DrainNode(const v1::DrainNodeRequest& request,
                                        const Identity& caller) {
  ASSAY_RETURN_IF_ERROR(CheckReason(request.reason()));
  ASSAY_ASSIGN_OR_RETURN(const Duration drain, DrainTimeOf(request));
  ASSAY_RETURN_IF_ERROR(environment_.nodes.Cordon(
      {request.node(), request.reason(), caller.id, drain, !request.has_deadline()}));
  ASSAY_ASSIGN_OR_RETURN(v1::Node node, GetNode(request.node()));
  Log().info("node {} is drained{}, with {} to go on until {}{}", node.description().name(),
             By(caller), Counted(node.job_ids_size(), "job"),
             schema::TimeText(node.cordon().drain_deadline()), Because(node.cordon()));
  watchers_.NotifyAll();
  return node;
}

Result<v1::Node> Coordinator::UpdateNode(const v1::UpdateNodeRequest& request,
                                         const Identity& caller) {
  ASSAY_RETURN_IF_ERROR(schema::CheckBounds(request, Reason::kInvalidArgument));
  ASSAY_RETURN_IF_ERROR(environment_.nodes.Update(request));
  // If this refresh fails, the next poll repeats it.
  const Status refreshed = scheduler_->RefreshSettings();
  if (!refreshed.ok()) Log().warn("settings of nodes are not in use yet: {}", refreshed.ToString());
  ASSAY_ASSIGN_OR_RETURN(v1::Node node, GetNode(request.node()));
  Log().info("node {} has new labels or a new price{}", node.description().name(), By(caller));
  return node;
}

}  // namespace assay::coordinator
