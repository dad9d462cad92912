#include "coordinator/rpc/analysis_services.h"

#include "assay/v1/analysis_service.grpc.pb.h"
#include "coordinator/rpc/service.h"
#include "wire/access.h"

namespace assay::coordinator::rpc {
namespace {

class AnalysisServiceImpl : public CoordinatorService<v1::AnalysisService::CallbackService> {
 public:
  using CoordinatorService::CoordinatorService;

  Unary* CompareResults(Context* context, const v1::CompareResultsRequest* request,
                        v1::CompareResultsResponse* response) override {
    return calls_.AnswerRead(context, "CompareResults", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(*response, coordinator_.questions().Compare(*request));
      return Status::Ok();
    });
  }

  Unary* GetHistory(Context* context, const v1::GetHistoryRequest* request,
                    v1::GetHistoryResponse* response) override {
    return calls_.AnswerRead(context, "GetHistory", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(*response, coordinator_.questions().GetHistory(*request));
      return Status::Ok();
    });
  }

  Unary* ListRegressions(Context* context, const v1::ListRegressionsRequest* request,
                         v1::ListRegressionsResponse* response) override {
    return calls_.AnswerRead(context, "ListRegressions", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(const PageRequest page, PageOf(*request, 100));
      ASSAY_ASSIGN_OR_RETURN(*response, coordinator_.ListRegressions(*request, page));
      return Status::Ok();
    });
  }

  Unary* ListOutliers(Context* context, const v1::ListOutliersRequest* request,
                      v1::ListOutliersResponse* response) override {
    return calls_.AnswerRead(context, "ListOutliers", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(*response, coordinator_.ListOutliers(*request));
      return Status::Ok();
    });
  }

  Unary* ListBaselines(Context* context, const v1::ListBaselinesRequest*,
                       v1::ListBaselinesResponse* response) override {
    return calls_.AnswerRead(context, "ListBaselines", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::Baseline> found, coordinator_.ListBaselines());
      response->mutable_baselines()->Assign(found.begin(), found.end());
      return Status::Ok();
    });
  }

  Unary* GetBaseline(Context* context, const v1::GetBaselineRequest* request,
                     v1::GetBaselineResponse* response) override {
    return calls_.AnswerRead(context, "GetBaseline", [=, this]() -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("name", request->name()));
      ASSAY_ASSIGN_OR_RETURN(*response->mutable_baseline(),
                             coordinator_.GetBaseline(request->name()));
      return Status::Ok();
    });
  }

  Unary* GetCosts(Context* context, const v1::GetCostsRequest* request,
                  v1::GetCostsResponse* response) override {
    return calls_.AnswerRead(context, "GetCosts", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(*response, coordinator_.questions().GetCosts(*request));
      return Status::Ok();
    });
  }

  Unary* GetRoofline(Context* context, const v1::GetRooflineRequest* request,
                     v1::GetRooflineResponse* response) override {
    return calls_.AnswerRead(context, "GetRoofline", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(*response, coordinator_.figures().GetRoofline(*request));
      return Status::Ok();
    });
  }

  Unary* GetPairs(Context* context, const v1::GetPairsRequest* request,
                  v1::GetPairsResponse* response) override {
    return calls_.AnswerRead(context, "GetPairs", [=, this]() -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("campaign", request->campaign()));
      ASSAY_ASSIGN_OR_RETURN(*response, coordinator_.figures().GetPairs(*request));
      return Status::Ok();
    });
  }
};

class NoteServiceImpl : public CoordinatorService<v1::NoteService::CallbackService> {
 public:
  using CoordinatorService::CoordinatorService;

  Unary* CreateBaseline(Context* context, const v1::CreateBaselineRequest* request,
                        v1::CreateBaselineResponse* response) override {
    return calls_.AnswerRead(context, "CreateBaseline", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(
          *response->mutable_baseline(),
          coordinator_.questions().CreateBaseline(*request, assay::rpc::CallerOf(*context).id));
      return Status::Ok();
    });
  }

  Unary* CreateAnnotation(Context* context, const v1::CreateAnnotationRequest* request,
                          v1::CreateAnnotationResponse* response) override {
    return calls_.Answer(context, "CreateAnnotation", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(
          *response->mutable_annotation(),
          coordinator_.CreateAnnotation(request->annotation(), assay::rpc::CallerOf(*context)));
      return Status::Ok();
    });
  }

  Unary* AcknowledgeRegression(Context* context, const v1::AcknowledgeRegressionRequest* request,
                               v1::AcknowledgeRegressionResponse* response) override {
    return calls_.Answer(context, "AcknowledgeRegression", [=, this]() -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("id", request->id()));
      ASSAY_ASSIGN_OR_RETURN(const int count, coordinator_.AcknowledgeRegression(
                                                  *request, assay::rpc::CallerOf(*context)));
      response->set_acknowledged_count(count);
      return Status::Ok();
    });
  }
};

}  // namespace

std::unique_ptr<grpc::Service> NewAnalysisService(Coordinator& coordinator, const Calls& calls) {
  return std::make_unique<AnalysisServiceImpl>(coordinator, calls);
}

std::unique_ptr<grpc::Service> NewNoteService(Coordinator& coordinator, const Calls& calls) {
  return std::make_unique<NoteServiceImpl>(coordinator, calls);
}

}  // namespace assay::coordinator::rpc
