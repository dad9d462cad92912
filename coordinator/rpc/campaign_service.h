// Implements CampaignService with the coordinator's core and the job store.
#pragma once

#include "assay/v1/campaign_service.grpc.pb.h"
#include "coordinator/core/coordinator.h"
#include "coordinator/rpc/calls.h"

namespace assay::coordinator::rpc {

class CampaignServiceImpl : public v1::CampaignService::CallbackService {
 public:
  // Both outlive the service.
  CampaignServiceImpl(Coordinator& coordinator, const Calls& calls)
      : coordinator_(coordinator), calls_(calls) {}

  grpc::ServerUnaryReactor* CreateCampaign(grpc::CallbackServerContext* context,
                                           const v1::CreateCampaignRequest* request,
                                           v1::CreateCampaignResponse* response) override;
  grpc::ServerUnaryReactor* GetCampaign(grpc::CallbackServerContext* context,
                                        const v1::GetCampaignRequest* request,
                                        v1::GetCampaignResponse* response) override;
  grpc::ServerUnaryReactor* ListCampaigns(grpc::CallbackServerContext* context,
                                          const v1::ListCampaignsRequest* request,
                                          v1::ListCampaignsResponse* response) override;
  grpc::ServerUnaryReactor* CancelCampaign(grpc::CallbackServerContext* context,
                                           const v1::CancelCampaignRequest* request,
                                           v1::CancelCampaignResponse* response) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchCampaignResponse>* WatchCampaign(
      grpc::CallbackServerContext* context, const v1::WatchCampaignRequest* request) override;
  grpc::ServerUnaryReactor* ListFleetBenchmarks(grpc::CallbackServerContext* context,
                                                const v1::ListFleetBenchmarksRequest* request,
                                                v1::ListFleetBenchmarksResponse* response) override;

 private:
  Coordinator& coordinator_;
  const Calls& calls_;
};

}  // namespace assay::coordinator::rpc
