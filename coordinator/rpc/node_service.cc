#include "coordinator/rpc/node_service.h"

#include <utility>
#include <vector>

#include "coordinator/rpc/paging.h"
#include "model/page.h"

namespace assay::coordinator::rpc {
namespace {

constexpr Duration kHelloPatience = std::chrono::seconds(10);
constexpr char kNodeTokens = 'n';

}  // namespace

grpc::ServerUnaryReactor* NodeServiceImpl::ListNodes(grpc::CallbackServerContext* context,
                                                     const v1::ListNodesRequest* request,
                                                     v1::ListNodesResponse* response) {
  return calls_.Answer(context, "ListNodes", [=, this]() -> Status {
    ASSAY_ASSIGN_OR_RETURN(const PageRequest page,
                           ToPageRequest(request->page_size(), request->page_token(), 1000));
    ASSAY_ASSIGN_OR_RETURN(const int64_t first, ParsePageToken(kNodeTokens, page.token, 0));
    ASSAY_ASSIGN_OR_RETURN(std::vector<v1::Node> nodes, coordinator_.ListNodes(request->filter()));
    PageFiller<v1::Node> filler(kNodeTokens, page);
    for (auto next = static_cast<size_t>(first); next < nodes.size(); ++next) {
      if (!filler.Add(std::move(nodes[next]), static_cast<int64_t>(next + 1))) break;
    }
    Page<v1::Node> found = std::move(filler).Take();
    for (v1::Node& node : found.items) *response->add_nodes() = std::move(node);
    response->set_next_page_token(found.next_token);
    return Status::Ok();
  });
}

grpc::ServerUnaryReactor* NodeServiceImpl::GetNode(grpc::CallbackServerContext* context,
                                                   const v1::GetNodeRequest* request,
                                                   v1::GetNodeResponse* response) {
  return calls_.Answer(context, "GetNode", [=, this]() -> Status {
    ASSAY_RETURN_IF_ERROR(CheckReference("node", request->node()));
    ASSAY_ASSIGN_OR_RETURN(*response->mutable_node(), coordinator_.GetNode(request->node()));
    return Status::Ok();
  });
}

grpc::ServerUnaryReactor* NodeServiceImpl::AddNode(grpc::CallbackServerContext* context,
                                                   const v1::AddNodeRequest* request,
                                                   v1::AddNodeResponse* response) {
  return calls_.AnswerLater(context, "AddNode", [=, this](const Calls::Done& done) -> Status {
    const std::string& address = request->address();
    const bool known = dialer_.Dials(address);
    ASSAY_RETURN_IF_ERROR(dialer_.Dial(address));
    dialer_.AwaitHello(address, kHelloPatience, [=, this](Result<Agent> agent) {
      if (!agent.ok()) {
        // An address where no agent answers is not kept.
        if (!known) dialer_.Forget(address);
        return done(agent.status());
      }
      calls_.executor().Post([=, this, agent = *std::move(agent)] {
        done(Guarded("AddNode", [&] { return StoreAdded(address, agent, response); }));
      });
    });
    return Status::Ok();
  });
}

Status NodeServiceImpl::StoreAdded(const std::string& address, const Agent& agent,
                                   v1::AddNodeResponse* response) {
  ASSAY_RETURN_IF_ERROR(coordinator_.AddDialAddress(address));
  ASSAY_ASSIGN_OR_RETURN(*response->mutable_node(), coordinator_.GetNode(agent.node_id));
  return Status::Ok();
}

grpc::ServerUnaryReactor* NodeServiceImpl::RemoveNode(grpc::CallbackServerContext* context,
                                                      const v1::RemoveNodeRequest* request,
                                                      v1::RemoveNodeResponse*) {
  return calls_.Answer(context, "RemoveNode", [=, this]() -> Status {
    ASSAY_RETURN_IF_ERROR(CheckReference("node", request->node()));
    ASSAY_ASSIGN_OR_RETURN(const v1::Node removed, coordinator_.RemoveNode(request->node()));
    if (!removed.dial_address().empty()) dialer_.Forget(removed.dial_address());
    return Status::Ok();
  });
}

}  // namespace assay::coordinator::rpc
