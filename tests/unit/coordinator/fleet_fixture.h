// Runs the whole core on fake stores and a virtual clock. The test plays the agents.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/core/coordinator.h"
#include "storage/fakes/fake_stores.h"
#include "tests/unit/campaign/fleet_records.h"
#include "tests/unit/coordinator/manual_executor.h"
#include "tests/virtual_clock.h"
#include "wire/reasons.h"

namespace assay::coordinator {

// A job store whose database can be made unreachable.
class FlakyJobStore : public storage::FakeJobStore {
 public:
  using FakeJobStore::FakeJobStore;
  bool away = false;

  Result<storage::FinishOutcome> FinishAttempt(const storage::FinishedAttempt& attempt) override {
    if (away) return Unavailable("the database is away");
    return FakeJobStore::FinishAttempt(attempt);
  }
  Result<std::vector<storage::LeasedJob>> ClaimJobs(const ClaimRequest& request) override {
    if (away) return Unavailable("the database is away");
    return FakeJobStore::ClaimJobs(request);
  }
  Result<std::vector<storage::LeasedJob>> ListExpired(Duration ago, int limit) override {
    if (away) return Unavailable("the database is away");
    return FakeJobStore::ListExpired(ago, limit);
  }
  Result<std::vector<std::string>> ListUnjudged() override {
    if (away) return Unavailable("the database is away");
    return FakeJobStore::ListUnjudged();
  }
};

// A schedule store whose database can be lost before a run is recorded.
class FlakyScheduleStore : public storage::FakeScheduleStore {
 public:
  using FakeScheduleStore::FakeScheduleStore;
  bool away = false;

  Result<bool> RecordRun(const storage::RecordedRun& recorded) override {
    if (away) return Unavailable("the database is away");
    return FakeScheduleStore::RecordRun(recorded);
  }
};

// The agent's end of a session.
class FakeAgent : public SessionSink {
 public:
  Identity Peer() override { return peer; }
  std::string PeerAddress() override { return address; }
  void Send(v1::CoordinatorMessage message) override { received.push_back(std::move(message)); }
  void ReadMore() override { ++reads_resumed; }
  void Close(const Status& status) override {
    if (!closed) closed = status;
  }

  // Returns the last message of a kind; null if there was none.
  const v1::CoordinatorMessage* Last(v1::CoordinatorMessage::KindCase kind) const {
    for (auto it = received.rbegin(); it != received.rend(); ++it) {
      if (it->kind_case() == kind) return &*it;
    }
    return nullptr;
  }
  int Count(v1::CoordinatorMessage::KindCase kind) const {
    int count = 0;
    for (const v1::CoordinatorMessage& one : received) count += one.kind_case() == kind ? 1 : 0;
    return count;
  }

  std::vector<v1::CoordinatorMessage> received;
  std::optional<Status> closed;
  int reads_resumed = 0;
  std::shared_ptr<Session> session;
  v1::Node node;
  std::string address = "10.0.0.7";
  Identity peer = kLocalAdmin;
};

class FleetFixture : public ::testing::Test {
 protected:
  using Kind = v1::CoordinatorMessage;

  FleetFixture() { Restart(); }

  // An agent and its session hold each other, as a stream does until it ends.
  ~FleetFixture() override {
    for (const auto& agent : agents) agent->session.reset();
  }

  // Replaces the coordinator by a new one on the same database, as after a crash.
  void Restart() {
    executor = std::make_unique<ManualExecutor>(clock);
    coordinator = MakeCoordinator({});
    executor->RunReady();
  }

  // Starts a coordinator on the same database and executor. Coordinators with equal seats replace
  // each other; those with different ones are replicas.
  std::unique_ptr<Coordinator> MakeCoordinator(const Place& place) {
    auto made =
        std::make_unique<Coordinator>(Environment{clock, *executor, jobs, results, nodes, fleet,
                                                  work, analysis, schedules, observer, &identities},
                                      Options{"coordinator-" + std::to_string(++coordinators)});
    made->Start(place);
    return made;
  }

  // Opens a session without sending Hello.
  std::shared_ptr<FakeAgent> Connect(const v1::Node& node) { return Connect(node, *coordinator); }
  std::shared_ptr<FakeAgent> Connect(const v1::Node& node, Coordinator& to) {
    auto agent = std::make_shared<FakeAgent>();
    agent->node = node;
    agent->session = to.OpenSession(agent, "");
    agents.push_back(agent);
    return agent;
  }

  std::shared_ptr<FakeAgent> Attach(const v1::Node& node) { return Attach(node, *coordinator); }
  std::shared_ptr<FakeAgent> Attach(const v1::Node& node, Coordinator& to) {
    auto agent = Connect(node, to);
    v1::AgentMessage hello;
    *hello.mutable_hello()->mutable_node() = node.description();
    hello.mutable_hello()->set_protocol_revision(1);
    Say(agent, std::move(hello));
    return agent;
  }

  void Say(const std::shared_ptr<FakeAgent>& agent, v1::AgentMessage message) {
    agent->session->OnMessage(std::move(message));
    executor->RunReady();
  }

  using Epochs = std::vector<storage::JobEpoch>;
  void SayState(const std::shared_ptr<FakeAgent>& agent, const Epochs& running,
                uint64_t sequence = 1) {
    v1::AgentMessage message;
    message.mutable_state()->set_sequence(sequence);
    for (const storage::JobEpoch& job : running) {
      v1::RunningJob* added = message.mutable_state()->add_running_jobs();
      added->set_job_id(job.job_id);
      added->set_epoch(job.epoch);
    }
    Say(agent, std::move(message));
  }

  void SayReady(const std::shared_ptr<FakeAgent>& agent, const v1::JobSpec& job,
                const std::string& token) {
    v1::AgentMessage message;
    message.mutable_gang_ready()->set_job_id(job.job_id());
    message.mutable_gang_ready()->set_epoch(job.epoch());
    message.mutable_gang_ready()->set_rendezvous_token(token);
    Say(agent, std::move(message));
  }

  // The agent's part of the job is over; failed unless the reason is unspecified.
  void SayFinished(const std::shared_ptr<FakeAgent>& agent, const v1::JobSpec& job,
                   v1::Reason reason = v1::REASON_UNSPECIFIED) {
    if (reason != v1::REASON_UNSPECIFIED) return SayFailed(agent, job, MakeFailure(reason, ""));
    v1::AgentMessage message;
    message.mutable_job_finished()->set_job_id(job.job_id());
    message.mutable_job_finished()->set_epoch(job.epoch());
    Say(agent, std::move(message));
  }
  void SayFailed(const std::shared_ptr<FakeAgent>& agent, const v1::JobSpec& job,
                 const v1::Failure& failure) {
    v1::AgentMessage message;
    message.mutable_job_finished()->set_job_id(job.job_id());
    message.mutable_job_finished()->set_epoch(job.epoch());
    *message.mutable_job_finished()->mutable_failure() = failure;
    Say(agent, std::move(message));
  }

  static v1::CaseResult ResultOf(const v1::JobSpec& job, int index, double median = 2.0) {
    v1::CaseResult result;
    result.set_job_id(job.job_id());
    result.set_epoch(job.epoch());
    result.set_case_index(job.cases(index).case_index());
    result.set_outcome(v1::CASE_OUTCOME_OK);
    result.set_benchmark(job.benchmark());
    result.set_benchmark_version(job.benchmark_version());
    *result.mutable_parameters() = job.cases(index).parameters();
    result.mutable_verification()->set_passed(true);
    v1::Measurement* measurement = result.add_measurements();
    const bool gemm = job.benchmark().ends_with("gemm");
    measurement->set_metric(gemm ? "tflops" : "bus_bandwidth");
    measurement->set_unit(gemm ? "TFLOP/s" : "GB/s");
    measurement->set_median(median);
    return result;
  }

  void SayResult(const std::shared_ptr<FakeAgent>& agent, const v1::CaseResult& result) {
    v1::AgentMessage message;
    *message.mutable_case_result() = result;
    Say(agent, std::move(message));
  }

  // Sends a result for every case, then the end of the job.
  void Complete(const std::shared_ptr<FakeAgent>& agent, const v1::JobSpec& job) {
    for (int i = 0; i < job.cases_size(); ++i) SayResult(agent, ResultOf(job, i));
    SayFinished(agent, job);
  }

  v1::JobSpec AssignedTo(const std::shared_ptr<FakeAgent>& agent) {
    const v1::CoordinatorMessage* message = agent->Last(Kind::kAssign);
    EXPECT_NE(message, nullptr) << "no Assign came";
    return message == nullptr ? v1::JobSpec() : message->assign().job();
  }

  v1::Campaign Submit(const v1::CampaignSpec& spec) {
    v1::CreateCampaignRequest request;
    *request.mutable_spec() = spec;
    auto campaign = coordinator->CreateCampaign(request);
    EXPECT_TRUE(campaign.ok()) << campaign.status();
    executor->RunReady();
    return campaign.ok() ? *campaign : v1::Campaign();
  }

  v1::Campaign Campaign(const v1::Campaign& campaign) {
    return *jobs.GetCampaign(campaign.campaign_id());
  }

  // Returns the latest failure of the campaign's first job.
  v1::Failure FailureOf(const v1::Campaign& campaign) {
    return jobs.ListJobs(campaign.campaign_id(), {})->items[0].failure();
  }

  static storage::JobEpoch EpochOf(const v1::JobSpec& job) { return {job.job_id(), job.epoch()}; }

  VirtualClock clock;
  storage::FakeDatabase database{clock};
  FlakyJobStore jobs{database};
  storage::FakeNodeStore nodes{database};
  storage::FakeResultStore results{database};
  storage::FakeFleetStore fleet{database};
  storage::FakeWorkStore work{database};
  storage::FakeAnalysisStore analysis{database};
  FlakyScheduleStore schedules{database};
  storage::FakeIdentityStore identities{database};
  Observer observer;
  int coordinators = 0;
  std::unique_ptr<ManualExecutor> executor;
  std::vector<std::shared_ptr<FakeAgent>> agents;  // All agents that have connected.
  std::unique_ptr<Coordinator> coordinator;
};

// Adds two nodes without GPUs, which the test attaches.
class FleetOfTwo : public FleetFixture {
 protected:
  v1::Node a_ = MakeFleetNode("a", '1', 0);
  v1::Node b_ = MakeFleetNode("b", '2', 0);
};

}  // namespace assay::coordinator
