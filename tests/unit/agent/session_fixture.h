// A session on fakes: a link that keeps what is sent, a launcher that runs nothing.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/session.h"
#include "tests/temporary_folder.h"
#include "tests/unit/agent/manual_executor.h"
#include "tests/virtual_clock.h"
#include "wire/durations.h"

namespace assay::agent {

class FakeLink : public Link {
 public:
  void Send(v1::AgentMessage message) override { sent.push_back(std::move(message)); }
  void Close(const std::string&, std::optional<ReconnectRequest> request) override {
    closed = true;
    reconnect = std::move(request);
  }

  std::vector<v1::AgentMessage> Take() { return std::exchange(sent, {}); }

  std::vector<v1::AgentMessage> sent;
  bool closed = false;
  std::optional<ReconnectRequest> reconnect;
};

// The state of a launched job, visible to tests even after the session has dropped it.
struct FakeRun {
  v1::JobSpec spec;
  JobEvents events;
  std::optional<v1::Failure> stopped;
  std::optional<std::string> token;
  bool destroyed = false;
};

class FakeLauncher : public JobLauncher {
 public:
  std::unique_ptr<LaunchedJob> Launch(v1::JobSpec spec, JobEvents events) override {
    runs.push_back(std::make_shared<FakeRun>(
        FakeRun{std::move(spec), std::move(events), std::nullopt, std::nullopt, false}));
    return std::make_unique<Job>(runs.back());
  }

  std::vector<std::shared_ptr<FakeRun>> runs;

 private:
  class Job : public LaunchedJob {
   public:
    explicit Job(std::shared_ptr<FakeRun> run) : run_(std::move(run)) {}
    ~Job() override { run_->destroyed = true; }
    void Go(std::string token) override { run_->token = std::move(token); }
    void Stop(v1::Failure why) override { run_->stopped = std::move(why); }

   private:
    const std::shared_ptr<FakeRun> run_;
  };
};

class SessionTest : public ::testing::Test {
 protected:
  static constexpr char kFleet[] = "fleet-1";

  SessionTest() { StartAgent(); }

  // A new agent process on the same folder: the old one's memory is gone.
  void StartAgent() {
    session_.reset();
    launcher_.runs.clear();
    spool_ = std::move(*Spool::Open(folder_.path() + "/spool", 1 << 20));
    v1::NodeDescription node;
    node.set_node_id("node-1");
    node.add_benchmarks()->set_name("ok");
    node.add_benchmarks()->set_name("gpu");
    node.mutable_benchmarks(1)->set_resource(v1::RESOURCE_KIND_GPU);
    node.mutable_inventory()->add_gpus();
    session_ = std::make_shared<Session>(Session::Options{
        &clock_, &executor_, &launcher_, spool_.get(), &occupancy_,
        std::make_shared<Node>(std::move(node)),
        [this](auto done) { checks_.push_back(std::move(done)); }, [this] { return telemetry_; }});
  }

  std::shared_ptr<FakeLink> Connect() {
    auto link = std::make_shared<FakeLink>();
    session_->Connected(link);
    return link;
  }

  void Deliver(const std::shared_ptr<FakeLink>& link, const v1::CoordinatorMessage& message) {
    session_->Received(link, message);
    executor_.RunDue();
  }

  // Connected, greeted, and with the greeting's messages kept in `sent`.
  std::shared_ptr<FakeLink> GoLive(const std::string& fleet_id = kFleet) {
    auto link = Connect();
    v1::CoordinatorMessage message;
    message.mutable_hello_ack()->set_protocol_revision(1);
    message.mutable_hello_ack()->set_fleet_id(fleet_id);
    *message.mutable_hello_ack()->mutable_heartbeat_period() = ToProto(std::chrono::seconds(1));
    Deliver(link, message);
    return link;
  }

  static v1::CoordinatorMessage Assign(const std::string& job, int64_t epoch,
                                       Duration lease = std::chrono::seconds(30)) {
    v1::CoordinatorMessage message;
    v1::JobSpec* spec = message.mutable_assign()->mutable_job();
    spec->set_job_id(job);
    spec->set_epoch(epoch);
    spec->set_benchmark("ok");
    spec->set_world_size(1);
    spec->add_ranks()->set_gpu_index(-1);
    spec->add_cases()->set_case_index(0);
    spec->add_cases()->set_case_index(1);
    *message.mutable_assign()->mutable_lease() = ToProto(lease);
    return message;
  }

  static v1::CaseResult ResultOf(const std::string& job, int64_t epoch, int case_index) {
    v1::CaseResult result;
    result.set_job_id(job);
    result.set_epoch(epoch);
    result.set_case_index(case_index);
    return result;
  }

  static v1::CoordinatorMessage Ack(
      const std::string& job, int64_t epoch, int case_index,
      v1::ResultAck::Verdict verdict = v1::ResultAck::VERDICT_STORED) {
    v1::CoordinatorMessage message;
    message.mutable_result_ack()->set_job_id(job);
    message.mutable_result_ack()->set_epoch(epoch);
    message.mutable_result_ack()->set_case_index(case_index);
    message.mutable_result_ack()->set_verdict(verdict);
    return message;
  }

  static v1::CoordinatorMessage FinishedAck(const std::string& job, int64_t epoch) {
    v1::CoordinatorMessage message;
    message.mutable_job_finished_ack()->set_job_id(job);
    message.mutable_job_finished_ack()->set_epoch(epoch);
    return message;
  }

  void Finish(const std::shared_ptr<FakeRun>& run, JobOutcome outcome = {}) {
    run->events.finished(std::move(outcome));
    executor_.RunDue();
  }

  void Report(const std::shared_ptr<FakeRun>& run, int case_index) {
    run->events.result(ResultOf(run->spec.job_id(), run->spec.epoch(), case_index));
    executor_.RunDue();
  }

  TemporaryFolder folder_;
  VirtualClock clock_;
  ManualExecutor executor_{&clock_};
  FakeLauncher launcher_;
  Occupancy occupancy_;
  // The checks of the node that were started; each is ended by a call.
  std::vector<std::function<void(v1::NodeChecked)>> checks_;
  Telemetry telemetry_;  // The state of the GPUs, as the node reads it.
  std::unique_ptr<Spool> spool_;
  std::shared_ptr<Session> session_;
};

// The messages of one kind, in order.
inline std::vector<v1::AgentMessage> Only(const std::vector<v1::AgentMessage>& messages,
                                          v1::AgentMessage::KindCase kind) {
  std::vector<v1::AgentMessage> found;
  for (const v1::AgentMessage& message : messages) {
    if (message.kind_case() == kind) found.push_back(message);
  }
  return found;
}

}  // namespace assay::agent
