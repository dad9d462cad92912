// Creates the campaigns of schedules.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/schedule_service.pb.h"
#include "common/status.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/leadership.h"
#include "wire/roles.h"

namespace assay::coordinator {

// The operations on campaigns that schedules need.
struct ScheduledCampaigns {
  // Checks a campaign and returns it as it would be created now. If the only error is that some of
  // its nodes are currently absent, returns nullopt instead.
  std::function<Result<std::optional<v1::Campaign>>(const v1::CampaignSpec&)> check;
  // Creates the campaign with this id, or returns ALREADY_EXISTS. Takes the campaign's submitted_by
  // and schedule fields from the specification.
  std::function<Result<v1::Campaign>(const v1::CampaignSpec&, const std::string& campaign_id)>
      create;
  std::function<Status(const std::string& campaign_id)> cancel;
};

// Stores schedules and creates their campaigns when they are due. The id of a campaign is derived
// from its schedule and due time, so the campaign is created only once, even if a coordinator dies
// between creating it and recording the run. Thread-safe. Methods block on the database.
class Schedules {
 public:
  // All arguments must outlive this object.
  Schedules(const Environment& environment, const Options& options, const Leadership& leadership,
            ScheduledCampaigns campaigns)
      : environment_(environment),
        options_(options),
        leadership_(leadership),
        campaigns_(std::move(campaigns)) {}

  // Checks a schedule and, unless `validate_only` is set, stores it under `schedule_id`. Storing it
  // again under the same id has no effect.
  Result<v1::CreateScheduleResponse> Create(const v1::CreateScheduleRequest& request,
                                            const std::string& schedule_id, const Identity& caller);
  // Returns all schedules, with only the names of their campaigns, because all schedules must fit
  // into one response.
  Result<std::vector<v1::Schedule>> List();
  Status Delete(const std::string& id_or_name, const Identity& caller);

  // Creates the campaigns that are due. Only the leader may call this. If the database does not
  // respond, returns UNAVAILABLE and the campaigns remain due. Stops after Options::poll and leaves
  // the rest for the next call.
  Status RunDue();

 private:
  Status RunOne(const v1::Schedule& schedule, WallTime now);
  // Decides whether a run takes place, and if so, creates its campaign.
  Result<v1::ScheduledRun> Run(const v1::Schedule& schedule, WallTime now);

  const Environment& environment_;
  const Options& options_;
  const Leadership& leadership_;
  const ScheduledCampaigns campaigns_;
};

}  // namespace assay::coordinator
