#include "agent/rpc/agent_service.h"

#include <memory>

#include "agent/rpc/session_stream.h"

namespace assay::agent {
namespace {

class ServerStream
    : public SessionStream<grpc::ServerBidiReactor<v1::CoordinatorMessage, v1::AgentMessage>,
                           /*kReadsToTheEnd=*/false> {
 public:
  using SessionStream::SessionStream;

  void OnDone() override { Release(); }

 protected:
  void End() override { Finish(grpc::Status::OK); }
};

}  // namespace

grpc::ServerBidiReactor<v1::CoordinatorMessage, v1::AgentMessage>* AgentServiceImpl::Session(
    grpc::CallbackServerContext* context) {
  Log().info("{} opens a session", context->peer());
  const auto stream = std::make_shared<ServerStream>(session_, host_.executor);
  stream->Begin();
  return stream.get();
}

grpc::ServerUnaryReactor* AgentServiceImpl::GetInventory(grpc::CallbackServerContext* context,
                                                         const v1::GetInventoryRequest*,
                                                         v1::GetInventoryResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  React("GetInventory", [&] { *response->mutable_node() = host_.node->Describe(); });
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* AgentServiceImpl::ListBenchmarks(grpc::CallbackServerContext* context,
                                                           const v1::ListBenchmarksRequest*,
                                                           v1::ListBenchmarksResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  React("ListBenchmarks",
        [&] { *response->mutable_benchmarks() = host_.node->description().benchmarks(); });
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<v1::RunJobResponse>* AgentServiceImpl::RunJob(
    grpc::CallbackServerContext*, const v1::RunJobRequest* request) {
  return StartRunJob(host_, *request);
}

}  // namespace assay::agent
