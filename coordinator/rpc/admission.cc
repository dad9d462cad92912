#include "coordinator/rpc/admission.h"

#include <utility>

#include "common/uuid.h"
#include "wire/access.h"

namespace assay::coordinator::rpc {

std::string ViewerMark(const std::string& address) {
  static const std::string secret = NewUuid();
  return secret + " " + address;
}

std::string PeerKey(const grpc::CallbackServerContext& context) {
  const Identity caller = assay::rpc::CallerOf(context);
  if (caller.role != Role::kLocalAdmin) {
    return std::string(RoleName(caller.role)) + "/" + caller.id;
  }
  const std::string address = context.peer();  // "ipv4:127.0.0.1:40312"
  if (const auto viewer = context.client_metadata().find(kViewer);
      viewer != context.client_metadata().end()) {
    const std::string mark(viewer->second.data(), viewer->second.size());
    const std::string secret = ViewerMark("");
    if (mark.rfind(secret, 0) == 0) return "viewer/" + mark.substr(secret.size());
  }
  return address.substr(0, address.rfind(':'));
}

Result<Admission::Place> Admission::Enter(const std::string& peer) {
  MutexLock lock(mutex_);
  const auto refused = [&](const std::string& whose) {
    return Status(Code::kResourceExhausted, Reason::kOverloaded,
                  "too many " + what_ + " in progress" + whose)
        .WithHint("try again when some have ended");
  };
  if (in_progress_ >= total_) return refused("");
  int& own = by_peer_[peer];
  if (own >= per_peer_) return refused(" from " + peer);
  ++own;
  ++in_progress_;
  return Place(this, [peer](Admission* self) { self->Leave(peer); });
}

void Admission::Leave(const std::string& peer) {
  MutexLock lock(mutex_);
  --in_progress_;
  const auto own = by_peer_.find(peer);
  if (--own->second == 0) by_peer_.erase(own);
}

}  // namespace assay::coordinator::rpc
