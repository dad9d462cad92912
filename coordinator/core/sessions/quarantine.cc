#include "coordinator/core/sessions/quarantine.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/log.h"
#include "common/text.h"

namespace assay::coordinator {
namespace {

constexpr Duration kFirstPause = std::chrono::seconds(5);
constexpr Duration kLongestPause = std::chrono::hours(1);

}  // namespace

Status Quarantine::CheckDue() {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> quarantined,
                         environment_.nodes.ListQuarantined());
  const MonotonicTime now = environment_.clock.Now();
  for (const std::string& node_id : quarantined) {
    const std::optional<Agent> agent = sessions_.Find(node_id);
    if (!agent) continue;
    {
      MutexLock lock(mutex_);
      Record& record = records_[node_id];
      if (now < record.next_check && agent->instance_id == record.instance_id) continue;
      record.pause = std::clamp(2 * record.pause, kFirstPause, kLongestPause);
      record.next_check = now + record.pause;
      record.instance_id = agent->instance_id;
      record.asked = true;
    }
    v1::CoordinatorMessage message;
    message.mutable_check_node();
    sessions_.Send(node_id, std::move(message));
  }
  return Status::Ok();
}

bool Quarantine::WasAsked(const std::string& node_id) {
  MutexLock lock(mutex_);
  const auto record = records_.find(node_id);
  return record != records_.end() && std::exchange(record->second.asked, false);
}

Status Quarantine::Checked(const std::string& node_id, const v1::NodeChecked& checked) {
  const std::optional<Agent> agent = sessions_.Find(node_id);
  const std::string name = agent ? agent->name : node_id;
  if (checked.has_failure()) {
    Log().warn("node {} stays quarantined: {}", name, Cut(checked.failure().message()));
    return Status::Ok();
  }
  ASSAY_RETURN_IF_ERROR(environment_.nodes.EndQuarantine(node_id));
  Log().info("the check of node {} passed; its quarantine ends", name);
  return Status::Ok();
}

}  // namespace assay::coordinator
