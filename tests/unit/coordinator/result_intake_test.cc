// Tests which claims of a node about its jobs and results are accepted.
#include "coordinator/core/attempts/result_intake.h"

#include <gmock/gmock.h>

#include <limits>

#include "common/uuid.h"
#include "tests/unit/coordinator/fleet_fixture.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using ::testing::ElementsAre;

class ResultIntakeTest : public FleetOfTwo {
 protected:
  static v1::Node GpuNode() {
    v1::Node node = MakeFleetNode("honest", '7', 2);
    v1::NodeDescription& description = *node.mutable_description();
    description.set_provider("runpod");
    description.set_region("eu");
    description.set_price_per_hour(2.5);
    description.mutable_inventory()->set_kernel("6.8");
    description.mutable_inventory()->mutable_cpu()->set_model("EPYC");
    for (v1::GpuInventory& gpu : *description.mutable_inventory()->mutable_gpus()) {
      gpu.set_form_factor("SXM");
    }
    return node;
  }

  // Sends the result and returns the verdict about it.
  v1::ResultAck::Verdict VerdictOf(const std::shared_ptr<FakeAgent>& agent,
                                   const v1::CaseResult& result) {
    SayResult(agent, result);
    const v1::CoordinatorMessage* ack = agent->Last(Kind::kResultAck);
    EXPECT_NE(ack, nullptr);
    return ack == nullptr ? v1::ResultAck::VERDICT_UNSPECIFIED : ack->result_ack().verdict();
  }

  v1::CaseResult OnlyStored() {
    const auto list = results.List("", {});
    EXPECT_EQ(list->items.size(), 1U);
    return list->items.empty() ? v1::CaseResult() : list->items[0].case_result();
  }

  std::string OwnerOf(const v1::JobSpec& job) {
    MutexLock lock(database.mutex);
    return database.jobs.at(job.job_id()).owner;
  }
};

TEST_F(ResultIntakeTest, ProvenanceAndHardwareComeFromTheNodesDescription) {
  const auto agent = Attach(GpuNode());
  Submit(MakeSpec("gemm"));
  const v1::JobSpec job = AssignedTo(agent);
  v1::CaseResult forged = ResultOf(job, 0);
  v1::Provenance& provenance = *forged.mutable_provenance();
  provenance.add_node_ids(b_.description().node_id());
  provenance.add_node_names("competitor-node");
  provenance.add_gpu_uuids("GPU-of-another");
  provenance.set_provider("other");
  provenance.set_region("other");
  provenance.set_price_per_hour(0.01);
  provenance.set_kernel("other");
  provenance.set_agent_version("9");
  provenance.set_agent_instance_id("9");
  provenance.set_simulated(true);
  provenance.set_imported_from("nccl-tests 2.17.6");
  (*provenance.mutable_labels())["rack"] = "9";
  v1::Environment& environment = *forged.mutable_environment();
  environment.set_gpu_model("B300");
  environment.set_gpu_form_factor("PCIe");
  environment.set_gpu_count(8);
  environment.set_topology("nvlink");
  environment.set_cpu_model("other");
  environment.set_node_count(9);
  environment.set_driver_version("999");
  environment.set_power_limit_watts(700);
  ASSERT_EQ(VerdictOf(agent, forged), v1::ResultAck::VERDICT_STORED);
  const v1::CaseResult stored = OnlyStored();
  const v1::NodeDescription& known = agent->node.description();
  EXPECT_THAT(stored.provenance().node_ids(), ElementsAre(known.node_id()));
  EXPECT_THAT(stored.provenance().node_names(), ElementsAre("honest"));
  const int gpu = job.ranks(0).gpu_index();
  EXPECT_THAT(stored.provenance().gpu_uuids(), ElementsAre(known.inventory().gpus(gpu).uuid()));
  EXPECT_EQ(stored.provenance().provider(), "runpod");
  EXPECT_EQ(stored.provenance().region(), "eu");
  EXPECT_EQ(stored.provenance().price_per_hour(), 2.5);
  EXPECT_EQ(stored.provenance().kernel(), "6.8");
  EXPECT_EQ(stored.provenance().agent_version(), "0.1.0");
  EXPECT_EQ(stored.provenance().agent_instance_id(), "instance-7");
  EXPECT_FALSE(stored.provenance().simulated());
  EXPECT_EQ(stored.provenance().imported_from(), "");
  EXPECT_EQ(stored.provenance().labels().count("rack"), 0U);
  EXPECT_EQ(stored.environment().gpu_model(), "H200");
  EXPECT_EQ(stored.environment().gpu_form_factor(), "SXM");
  EXPECT_EQ(stored.environment().gpu_count(), 1);
  EXPECT_EQ(stored.environment().topology(), "single");
  EXPECT_EQ(stored.environment().cpu_model(), "EPYC");
  EXPECT_EQ(stored.environment().node_count(), 1);
  EXPECT_EQ(stored.environment().driver_version(), "580.95.05");
  EXPECT_EQ(stored.environment().power_limit_watts(), 700) << "as measured";
}

TEST_F(ResultIntakeTest, ResultOfACpuHasNoGpu) {
  const auto agent = Attach(a_);
  Submit(MakeSpec("cpu_gemm"));
  v1::CaseResult forged = ResultOf(AssignedTo(agent), 0);
  forged.mutable_environment()->set_gpu_model("B300");
  forged.mutable_environment()->set_gpu_count(8);
  forged.mutable_provenance()->add_gpu_uuids("GPU-of-another");
  ASSERT_EQ(VerdictOf(agent, forged), v1::ResultAck::VERDICT_STORED);
  const v1::CaseResult stored = OnlyStored();
  EXPECT_EQ(stored.environment().gpu_model(), "");
  EXPECT_EQ(stored.environment().gpu_count(), 0);
  EXPECT_EQ(stored.environment().topology(), "none");
  EXPECT_THAT(stored.provenance().gpu_uuids(), ElementsAre());
}

TEST_F(ResultIntakeTest, GpuThatTheNodeHasIsBelieved) {
  const auto agent = Attach(GpuNode());
  Submit(MakeSpec("gemm"));
  const v1::JobSpec job = AssignedTo(agent);
  v1::CaseResult result = ResultOf(job, 0);
  const std::string other =
      agent->node.description().inventory().gpus(1 - job.ranks(0).gpu_index()).uuid();
  result.mutable_provenance()->add_gpu_uuids(other);
  ASSERT_EQ(VerdictOf(agent, result), v1::ResultAck::VERDICT_STORED);
  EXPECT_THAT(OnlyStored().provenance().gpu_uuids(), ElementsAre(other));
}

TEST_F(ResultIntakeTest, TimesLieWithinTheAttempt) {
  const auto agent = Attach(a_);
  Submit(MakeSpec("cpu_gemm"));
  const WallTime start = clock.WallNow();
  clock.Advance(std::chrono::seconds(3));
  v1::CaseResult forged = ResultOf(AssignedTo(agent), 0);
  *forged.mutable_start_time() = schema::ToTimestamp(start - std::chrono::hours(175'320));
  *forged.mutable_end_time() = schema::ToTimestamp(start + std::chrono::hours(1));
  ASSERT_EQ(VerdictOf(agent, forged), v1::ResultAck::VERDICT_STORED);
  const v1::CaseResult stored = OnlyStored();
  EXPECT_EQ(schema::FromTimestamp(stored.start_time()), start);
  EXPECT_EQ(schema::FromTimestamp(stored.end_time()), start + std::chrono::seconds(3));
}

TEST_F(ResultIntakeTest, ReplayIsKnownAfterTheNodesDescriptionChanged) {
  v1::Node node = GpuNode();
  const auto agent = Attach(node);
  Submit(MakeSpec("gemm"));
  const v1::CaseResult result = ResultOf(AssignedTo(agent), 0);
  ASSERT_EQ(VerdictOf(agent, result), v1::ResultAck::VERDICT_STORED);
  node.mutable_description()->set_price_per_hour(3.5);
  const auto again = Attach(node);
  EXPECT_EQ(VerdictOf(again, result), v1::ResultAck::VERDICT_STORED);
  SayFinished(again, AssignedTo(agent));
  EXPECT_EQ(VerdictOf(again, result), v1::ResultAck::VERDICT_STORED) << "the job has ended";
  EXPECT_EQ(OnlyStored().provenance().price_per_hour(), 2.5);
}

TEST_F(ResultIntakeTest, MetricsAreThoseOfTheSchema) {
  const auto agent = Attach(a_);
  Submit(MakeSpec("cpu_gemm"));
  const v1::CaseResult result = ResultOf(AssignedTo(agent), 0);
  v1::CaseResult named = result;
  named.mutable_measurements(0)->set_metric("exaflops");
  v1::CaseResult unit = result;
  unit.mutable_measurements(0)->set_unit("GFLOP/s");
  v1::CaseResult direction = result;
  direction.mutable_measurements(0)->set_direction(v1::DIRECTION_LOWER_IS_BETTER);
  for (const v1::CaseResult& wrong : {named, unit, direction}) {
    EXPECT_EQ(VerdictOf(agent, wrong), v1::ResultAck::VERDICT_REJECTED) << wrong.DebugString();
  }
  EXPECT_EQ(VerdictOf(agent, result), v1::ResultAck::VERDICT_STORED);
}

TEST_F(ResultIntakeTest, EfficiencyFollowsFromTheTimes) {
  const auto agent = Attach(GpuNode());
  Submit(MakeSpec("gemm"));
  v1::CaseResult result = ResultOf(AssignedTo(agent), 0);
  result.mutable_prediction()->set_efficiency_spec(0.5);
  EXPECT_EQ(VerdictOf(agent, result), v1::ResultAck::VERDICT_REJECTED) << "from no time";
  v1::Measurement* time = result.add_measurements();
  time->set_metric("time");
  time->set_unit("s");
  time->set_median(2e-3);
  EXPECT_EQ(VerdictOf(agent, result), v1::ResultAck::VERDICT_REJECTED) << "from no prediction";
  result.mutable_prediction()->set_predicted_seconds(1e-3);
  result.mutable_prediction()->set_efficiency_spec(0.99);
  EXPECT_EQ(VerdictOf(agent, result), v1::ResultAck::VERDICT_REJECTED);
  result.mutable_prediction()->set_efficiency_spec(std::numeric_limits<double>::infinity());
  EXPECT_EQ(VerdictOf(agent, result), v1::ResultAck::VERDICT_REJECTED);
  result.mutable_prediction()->set_efficiency_spec(0.5);
  result.mutable_prediction()->set_efficiency_clock(-1);
  EXPECT_EQ(VerdictOf(agent, result), v1::ResultAck::VERDICT_REJECTED);
  result.mutable_prediction()->clear_efficiency_clock();
  EXPECT_EQ(VerdictOf(agent, result), v1::ResultAck::VERDICT_STORED);
}

TEST_F(ResultIntakeTest, ResultsOfUnknownJobsAreNotStored) {
  const auto agent = Attach(a_);
  Submit(MakeSpec("cpu_gemm"));
  v1::CaseResult result = ResultOf(AssignedTo(agent), 0);
  result.set_job_id(NewUuid());
  EXPECT_EQ(VerdictOf(agent, result), v1::ResultAck::VERDICT_UNKNOWN_JOB);
  EXPECT_TRUE(results.List("", {})->items.empty());
}

TEST_F(ResultIntakeTest, OnlyAJobsNodesAdoptIt) {
  auto honest = Attach(a_);
  Submit(MakeSpec("cpu_gemm"));
  const v1::JobSpec job = AssignedTo(honest);
  const std::string owner = OwnerOf(job);
  Restart();
  const auto stranger = Attach(b_);
  SayState(stranger, {EpochOf(job)});
  EXPECT_EQ(stranger->Last(Kind::kLeaseRenewal)->lease_renewal().jobs_size(), 0);
  EXPECT_EQ(stranger->Last(Kind::kCancel)->cancel().job_id(), job.job_id());
  SayReady(stranger, job, "token");
  EXPECT_EQ(VerdictOf(stranger, ResultOf(job, 0)), v1::ResultAck::VERDICT_STALE);
  SayFinished(stranger, job);
  SayFinished(stranger, job, v1::REASON_RUNNER_CRASHED);
  EXPECT_EQ(OwnerOf(job), owner);
  EXPECT_TRUE(results.List("", {})->items.empty());
  honest = Attach(a_);
  SayState(honest, {EpochOf(job)});
  EXPECT_NE(OwnerOf(job), owner);
  EXPECT_EQ(VerdictOf(stranger, ResultOf(job, 0)), v1::ResultAck::VERDICT_REJECTED);
  EXPECT_EQ(VerdictOf(honest, ResultOf(job, 0)), v1::ResultAck::VERDICT_STORED);
}

}  // namespace
}  // namespace assay::coordinator
