#include "coordinator/rpc/schedule_service.h"

#include "assay/v1/schedule_service.grpc.pb.h"
#include "common/uuid.h"
#include "coordinator/rpc/service.h"
#include "wire/access.h"

namespace assay::coordinator::rpc {
namespace {

class ScheduleServiceImpl : public CoordinatorService<v1::ScheduleService::CallbackService> {
 public:
  using CoordinatorService::CoordinatorService;

  Unary* CreateSchedule(Context* context, const v1::CreateScheduleRequest* request,
                        v1::CreateScheduleResponse* response) override {
    // If the database does not respond, the request is retried with the same id. The retry succeeds
    // even if the first attempt stored the schedule and only the database's response was lost.
    const std::string schedule_id = NewUuid();
    return calls_.Answer(context, "CreateSchedule", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(*response, coordinator_.schedules().Create(
                                            *request, schedule_id, assay::rpc::CallerOf(*context)));
      return Status::Ok();
    });
  }

  Unary* ListSchedules(Context* context, const v1::ListSchedulesRequest*,
                       v1::ListSchedulesResponse* response) override {
    return calls_.Answer(context, "ListSchedules", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::Schedule> found,
                             coordinator_.schedules().List());
      response->mutable_schedules()->Assign(found.begin(), found.end());
      return Status::Ok();
    });
  }

  Unary* DeleteSchedule(Context* context, const v1::DeleteScheduleRequest* request,
                        v1::DeleteScheduleResponse*) override {
    return calls_.Answer(context, "DeleteSchedule", [=, this]() -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("schedule", request->schedule()));
      return coordinator_.schedules().Delete(request->schedule(), assay::rpc::CallerOf(*context));
    });
  }
};

}  // namespace

std::unique_ptr<grpc::Service> NewScheduleService(Coordinator& coordinator, const Calls& calls) {
  return std::make_unique<ScheduleServiceImpl>(coordinator, calls);
}

}  // namespace assay::coordinator::rpc
