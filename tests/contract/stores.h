// A set of stores that share their state, for the contract suites.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/analysis_store.h"
#include "storage/fleet_store.h"
#include "storage/identity_store.h"
#include "storage/job_store.h"
#include "storage/node_store.h"
#include "storage/result_store.h"
#include "storage/schedule_store.h"
#include "storage/work_store.h"
#include "tests/storage_records.h"

namespace assay::storage {

// A node that sends no heartbeat for this long counts as disconnected.
inline constexpr Duration kStale = std::chrono::minutes(1);

class Stores {
 public:
  virtual ~Stores() = default;
  virtual JobStore& jobs() = 0;
  virtual NodeStore& nodes() = 0;
  virtual ResultStore& results() = 0;
  virtual FleetStore& fleet() = 0;
  virtual WorkStore& work() = 0;
  virtual AnalysisStore& analysis() = 0;
  virtual ScheduleStore& schedules() = 0;
  virtual IdentityStore& identities() = 0;
  // Makes all leases expire.
  virtual void ExpireLeases() = 0;
  // Lets this much time pass for queued jobs, heartbeats and stored results.
  virtual void Pass(Duration time) = 0;
  // Returns the number of stored series and environments.
  virtual int CountSeries() = 0;
  virtual void DeleteResult(const std::string& result_id) = 0;
};

using StoresFactory = std::function<std::unique_ptr<Stores>()>;

// Fixture with fresh stores for each test.
class StoreContract : public ::testing::TestWithParam<StoresFactory> {
 protected:
  JobStore& jobs() { return stores_->jobs(); }
  NodeStore& nodes() { return stores_->nodes(); }
  ResultStore& results() { return stores_->results(); }
  FleetStore& fleet() { return stores_->fleet(); }
  WorkStore& work() { return stores_->work(); }
  AnalysisStore& analysis() { return stores_->analysis(); }
  ScheduleStore& schedules() { return stores_->schedules(); }
  IdentityStore& identities() { return stores_->identities(); }

  // Connects nodes of these ids, named "name-ID".
  void Connect(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
      const Status status = nodes().Connect("owner", MakeNode(id, "name-" + id), "", kStale);
      ASSERT_TRUE(status.ok()) << status;
    }
  }

  std::string Create(const NewCampaign& campaign) {
    const auto made = jobs().CreateCampaign(campaign);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? made->campaign_id() : "";
  }

  std::vector<LeasedJob> Claim(const std::vector<std::string>& node_ids, int limit = 64,
                               const std::string& owner = "owner") {
    auto leased = jobs().ClaimJobs({owner, std::chrono::minutes(1), node_ids, limit});
    EXPECT_TRUE(leased.ok()) << leased.status();
    return leased.ok() ? *std::move(leased) : std::vector<LeasedJob>{};
  }

  FinishOutcome Finish(const LeasedJob& job, Disposition disposition,
                       std::vector<std::string> avoid = {}, Duration delay = Duration(0)) {
    FinishedAttempt attempt;
    attempt.job = {job.job.job_id, job.epoch};
    attempt.disposition = disposition;
    attempt.avoid_node_ids = std::move(avoid);
    attempt.delay = delay;
    if (disposition != Disposition::kSucceeded) {
      attempt.failure.emplace().set_reason(v1::REASON_RUNNER_CRASHED);
      attempt.failure->set_failure_class(v1::FAILURE_CLASS_JOB);
      attempt.failure->set_node_id(job.node_ids.front());
      attempt.also_node_ids = {"also"};
    }
    const auto outcome = jobs().FinishAttempt(attempt);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? *outcome : FinishOutcome{};
  }

  std::vector<CommitOutcome> Commit(const std::vector<v1::CaseResult>& batch) {
    const auto outcomes = results().Commit(AsSent(batch));
    EXPECT_TRUE(outcomes.ok()) << outcomes.status();
    return outcomes.ok() ? *outcomes : std::vector<CommitOutcome>(batch.size());
  }

  v1::Campaign Campaign(const std::string& id) {
    const auto campaign = jobs().GetCampaign(id);
    EXPECT_TRUE(campaign.ok()) << campaign.status();
    return campaign.ok() ? *campaign : v1::Campaign();
  }

  std::unique_ptr<Stores> stores_ = GetParam()();
};

// The suite's own name says which stores these are.
inline std::string NameOfStores(const ::testing::TestParamInfo<StoresFactory>&) { return "stores"; }

}  // namespace assay::storage
