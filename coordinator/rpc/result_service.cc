#include "coordinator/rpc/result_service.h"

#include <utility>

#include "coordinator/rpc/paging.h"

namespace assay::coordinator::rpc {

grpc::ServerUnaryReactor* ResultServiceImpl::ListResults(grpc::CallbackServerContext* context,
                                                         const v1::ListResultsRequest* request,
                                                         v1::ListResultsResponse* response) {
  return calls_.Answer(context, "ListResults", [=, this]() -> Status {
    ASSAY_ASSIGN_OR_RETURN(const PageRequest page,
                           ToPageRequest(request->page_size(), request->page_token(), 1000));
    ASSAY_ASSIGN_OR_RETURN(Page<v1::StoredResult> found,
                           coordinator_.ListResults(request->filter(), page));
    for (v1::StoredResult& result : found.items) *response->add_results() = std::move(result);
    response->set_next_page_token(found.next_token);
    return Status::Ok();
  });
}

grpc::ServerUnaryReactor* ResultServiceImpl::GetResult(grpc::CallbackServerContext* context,
                                                       const v1::GetResultRequest* request,
                                                       v1::GetResultResponse* response) {
  return calls_.Answer(context, "GetResult", [=, this]() -> Status {
    ASSAY_RETURN_IF_ERROR(CheckReference("result_id", request->result_id()));
    ASSAY_ASSIGN_OR_RETURN(*response->mutable_result(),
                           coordinator_.GetResult(request->result_id()));
    return Status::Ok();
  });
}

grpc::ServerUnaryReactor* ResultServiceImpl::ImportResults(grpc::CallbackServerContext* context,
                                                           const v1::ImportResultsRequest* request,
                                                           v1::ImportResultsResponse* response) {
  return calls_.Answer(context, "ImportResults", [=, this]() -> Status {
    ASSAY_ASSIGN_OR_RETURN(*response, coordinator_.ImportResults(*request));
    return Status::Ok();
  });
}

}  // namespace assay::coordinator::rpc
