#include "coordinator/rpc/fleet_service.h"

#include <memory>
#include <utility>

#include "coordinator/rpc/guard.h"
#include "coordinator/rpc/stream_link.h"
#include "wire/status_conversion.h"

namespace assay::coordinator::rpc {
namespace {

using assay::rpc::ToGrpc;

// The server side of one Attach. Deletes itself when gRPC has finished with it.
class AttachReactor : public grpc::ServerBidiReactor<v1::AgentMessage, v1::CoordinatorMessage>,
                      public StreamOperations {
 public:
  AttachReactor(Coordinator& coordinator, const Calls& calls)
      : calls_(calls), link_(std::make_shared<StreamLink>(this)) {
    link_->Start(coordinator.OpenSession(link_, ""));
  }

  void Read() override { StartRead(&inbound_); }
  void Write(const v1::CoordinatorMessage* message) override { StartWrite(message); }
  void Finish(const Status& status) override {
    calls_.Count("Attach", status.code());
    ServerBidiReactor::Finish(ToGrpc(status));
  }

  void OnReadDone(bool ok) override {
    Reaction("Attach.OnReadDone", [&] { link_->OnReadDone(ok, std::exchange(inbound_, {})); });
  }
  void OnWriteDone(bool ok) override {
    Reaction("Attach.OnWriteDone", [&] { link_->OnWriteDone(ok); });
  }
  void OnCancel() override {
    Reaction("Attach.OnCancel", [&] { link_->OnBroken(); });
  }
  void OnDone() override {
    Reaction("Attach.OnDone", [&] { link_->OnDone(); });
    delete this;
  }

 private:
  const Calls& calls_;
  v1::AgentMessage inbound_;
  const std::shared_ptr<StreamLink> link_;
};

}  // namespace

grpc::ServerBidiReactor<v1::AgentMessage, v1::CoordinatorMessage>* FleetServiceImpl::Attach(
    grpc::CallbackServerContext*) {
  return new AttachReactor(coordinator_, calls_);
}

}  // namespace assay::coordinator::rpc
