#include "coordinator/rpc/campaign_service.h"

#include <utility>

#include "coordinator/rpc/paging.h"
#include "coordinator/rpc/watch.h"

namespace assay::coordinator::rpc {

grpc::ServerUnaryReactor* CampaignServiceImpl::CreateCampaign(
    grpc::CallbackServerContext* context, const v1::CreateCampaignRequest* request,
    v1::CreateCampaignResponse* response) {
  return calls_.Answer(context, "CreateCampaign", [=, this]() -> Status {
    ASSAY_ASSIGN_OR_RETURN(*response->mutable_campaign(), coordinator_.CreateCampaign(*request));
    return Status::Ok();
  });
}

grpc::ServerUnaryReactor* CampaignServiceImpl::GetCampaign(grpc::CallbackServerContext* context,
                                                           const v1::GetCampaignRequest* request,
                                                           v1::GetCampaignResponse* response) {
  return calls_.Answer(context, "GetCampaign", [=, this]() -> Status {
    ASSAY_RETURN_IF_ERROR(CheckReference("campaign", request->campaign()));
    ASSAY_ASSIGN_OR_RETURN(*response->mutable_campaign(),
                           coordinator_.GetCampaign(request->campaign()));
    return Status::Ok();
  });
}

grpc::ServerUnaryReactor* CampaignServiceImpl::ListCampaigns(
    grpc::CallbackServerContext* context, const v1::ListCampaignsRequest* request,
    v1::ListCampaignsResponse* response) {
  return calls_.Answer(context, "ListCampaigns", [=, this]() -> Status {
    ASSAY_ASSIGN_OR_RETURN(const PageRequest page,
                           ToPageRequest(request->page_size(), request->page_token(), 100));
    ASSAY_ASSIGN_OR_RETURN(Page<v1::Campaign> found, coordinator_.ListCampaigns(page));
    for (v1::Campaign& campaign : found.items) *response->add_campaigns() = std::move(campaign);
    response->set_next_page_token(found.next_token);
    return Status::Ok();
  });
}

grpc::ServerUnaryReactor* CampaignServiceImpl::CancelCampaign(
    grpc::CallbackServerContext* context, const v1::CancelCampaignRequest* request,
    v1::CancelCampaignResponse* response) {
  return calls_.Answer(context, "CancelCampaign", [=, this]() -> Status {
    ASSAY_RETURN_IF_ERROR(CheckReference("campaign", request->campaign()));
    ASSAY_ASSIGN_OR_RETURN(*response->mutable_campaign(),
                           coordinator_.CancelCampaign(request->campaign()));
    return Status::Ok();
  });
}

grpc::ServerUnaryReactor* CampaignServiceImpl::ListJobs(grpc::CallbackServerContext* context,
                                                        const v1::ListJobsRequest* request,
                                                        v1::ListJobsResponse* response) {
  return calls_.Answer(context, "ListJobs", [=, this]() -> Status {
    ASSAY_RETURN_IF_ERROR(CheckReference("campaign", request->campaign()));
    ASSAY_ASSIGN_OR_RETURN(const PageRequest page,
                           ToPageRequest(request->page_size(), request->page_token(), 1000));
    ASSAY_ASSIGN_OR_RETURN(Page<v1::Job> found, coordinator_.ListJobs(request->campaign(), page));
    for (v1::Job& job : found.items) *response->add_jobs() = std::move(job);
    response->set_next_page_token(found.next_token);
    return Status::Ok();
  });
}

grpc::ServerWriteReactor<v1::WatchCampaignResponse>* CampaignServiceImpl::WatchCampaign(
    grpc::CallbackServerContext*, const v1::WatchCampaignRequest* request) {
  return NewWatch(coordinator_, calls_, request->campaign());
}

grpc::ServerUnaryReactor* CampaignServiceImpl::ListFleetBenchmarks(
    grpc::CallbackServerContext* context, const v1::ListFleetBenchmarksRequest*,
    v1::ListFleetBenchmarksResponse* response) {
  return calls_.Answer(context, "ListFleetBenchmarks", [=, this]() -> Status {
    ASSAY_ASSIGN_OR_RETURN(std::vector<v1::FleetBenchmark> found,
                           coordinator_.ListFleetBenchmarks());
    for (v1::FleetBenchmark& benchmark : found) {
      *response->add_benchmarks() = std::move(benchmark);
    }
    return Status::Ok();
  });
}

}  // namespace assay::coordinator::rpc
