// Implements ResultService with the result store.
#pragma once

#include "assay/v1/result_service.grpc.pb.h"
#include "coordinator/core/coordinator.h"
#include "coordinator/rpc/calls.h"

namespace assay::coordinator::rpc {

class ResultServiceImpl : public v1::ResultService::CallbackService {
 public:
  // Both outlive the service.
  ResultServiceImpl(Coordinator& coordinator, const Calls& calls)
      : coordinator_(coordinator), calls_(calls) {}

  grpc::ServerUnaryReactor* ListResults(grpc::CallbackServerContext* context,
                                        const v1::ListResultsRequest* request,
                                        v1::ListResultsResponse* response) override;
  grpc::ServerUnaryReactor* GetResult(grpc::CallbackServerContext* context,
                                      const v1::GetResultRequest* request,
                                      v1::GetResultResponse* response) override;
  grpc::ServerUnaryReactor* ImportResults(grpc::CallbackServerContext* context,
                                          const v1::ImportResultsRequest* request,
                                          v1::ImportResultsResponse* response) override;

 private:
  Coordinator& coordinator_;
  const Calls& calls_;
};

}  // namespace assay::coordinator::rpc
