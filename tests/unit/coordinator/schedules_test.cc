// Tests campaigns that recur, on a virtual clock that begins at 2026-01-01T00:00:00Z.
#include "coordinator/core/schedules.h"

#include <gtest/gtest.h>

#include "common/uuid.h"
#include "tests/unit/coordinator/fleet_fixture.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const Identity kAnn{Role::kSubmitter, "fleet", "ann", "", ""};
const Identity kBob{Role::kSubmitter, "fleet", "bob", "", ""};

class SchedulesTest : public FleetOfTwo {
 protected:
  SchedulesTest() { Wait(seconds(40)); }  // Until the grace period has ended.

  // Lets time pass while the agent reports the job that it runs.
  void Wait(Duration time) {
    constexpr Duration kStep = seconds(5);
    for (Duration waited{0}; waited < time; waited += kStep) {
      if (!agent->closed) SayState(agent, Running(), ++sequence);
      executor->Advance(kStep);
    }
  }

  // Destroys the coordinator without a word, and starts another one after `absence`.
  void ReplaceCoordinator(Duration absence) {
    for (const auto& one : agents) one->session.reset();
    coordinator = nullptr;
    clock.Advance(absence);
    Restart();
    agent = Attach(a_);
    sequence = 0;
  }

  Epochs Running() {
    const v1::CoordinatorMessage* message = agent->Last(Kind::kAssign);
    if (message == nullptr || message->assign().job().job_id() == done) return {};
    return {EpochOf(message->assign().job())};
  }

  void CompleteJob() {
    const v1::JobSpec job = AssignedTo(agent);
    Complete(agent, job);
    done = job.job_id();
  }

  static v1::CreateScheduleRequest Request(const std::string& cron = "* * * * *") {
    v1::CreateScheduleRequest request;
    request.mutable_schedule()->set_name("minutely");
    request.mutable_schedule()->set_cron(cron);
    *request.mutable_schedule()->mutable_spec() = MakeSpec("cpu_gemm");
    return request;
  }

  Result<v1::CreateScheduleResponse> Create(const v1::CreateScheduleRequest& request) {
    return coordinator->schedules().Create(request, NewUuid(), kAnn);
  }
  void MustCreate(const v1::CreateScheduleRequest& request) {
    const auto created = Create(request);
    ASSERT_TRUE(created.ok()) << created.status();
  }

  std::vector<v1::Campaign> Campaigns() { return jobs.ListCampaigns({1000, ""})->items; }
  v1::Schedule Stored() { return *schedules.Get("minutely"); }
  // Returns the outcomes of the runs, newest first.
  std::vector<v1::ScheduledRun::Outcome> Outcomes() {
    std::vector<v1::ScheduledRun::Outcome> outcomes;
    const v1::Schedule stored = Stored();
    for (const v1::ScheduledRun& run : stored.runs()) outcomes.push_back(run.outcome());
    return outcomes;
  }
  static WallTime TimeOf(const v1::ScheduledRun& run) { return schema::FromTimestamp(run.time()); }

  static constexpr auto kCreated = v1::ScheduledRun::OUTCOME_CREATED;
  static constexpr auto kSkipped = v1::ScheduledRun::OUTCOME_SKIPPED;
  static constexpr auto kFailed = v1::ScheduledRun::OUTCOME_FAILED;
  using OutcomeList = std::vector<v1::ScheduledRun::Outcome>;

  const WallTime start = clock.WallNow();
  std::shared_ptr<FakeAgent> agent = Attach(a_);
  uint64_t sequence = 0;
  std::string done;
};

TEST_F(SchedulesTest, DueRun_CreatesTheCampaignOfItsCreator) {
  MustCreate(Request());
  Wait(seconds(15));
  EXPECT_EQ(Campaigns().size(), 0U);
  Wait(seconds(15));
  ASSERT_EQ(Campaigns().size(), 1U);
  const v1::Campaign campaign = Campaign(Campaigns()[0]);
  EXPECT_EQ(campaign.name(), "sweep");
  EXPECT_EQ(campaign.schedule(), "minutely");
  EXPECT_EQ(campaign.submitted_by(), "ann");
  const v1::Schedule stored = Stored();
  ASSERT_EQ(stored.runs_size(), 1);
  EXPECT_EQ(stored.runs(0).outcome(), kCreated);
  EXPECT_EQ(stored.runs(0).campaign_id(), campaign.campaign_id());
  EXPECT_EQ(TimeOf(stored.runs(0)), start + minutes(1));
  EXPECT_EQ(schema::FromTimestamp(stored.next_time()), start + minutes(2));
  CompleteJob();
  EXPECT_EQ(Campaign(campaign).verdict(), v1::VERDICT_PASSED);
  Wait(seconds(60));
  EXPECT_EQ(Campaigns().size(), 2U);
}

TEST_F(SchedulesTest, UsersCannotNameASchedule) {
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_schedule("minutely");
  EXPECT_EQ(Submit(spec).schedule(), "");
}

TEST_F(SchedulesTest, Create_AnswersWithWhatIsStored) {
  v1::CreateScheduleRequest request = Request("0 2 * * *");
  request.mutable_schedule()->set_time_zone("Europe/Berlin");
  request.set_validate_only(true);
  const auto checked = Create(request);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_TRUE(schedules.List()->empty());
  EXPECT_EQ(checked->campaign().jobs().queued(), 1);
  ASSERT_EQ(checked->next_times_size(), 5);
  EXPECT_EQ(schema::FromTimestamp(checked->next_times(0)), start + hours(1));
  EXPECT_EQ(schema::FromTimestamp(checked->next_times(4)), start + hours(97));
  EXPECT_EQ(checked->schedule().missed_runs(), v1::MISSED_RUNS_ONCE);
  EXPECT_EQ(checked->schedule().overlap(), v1::OVERLAP_SKIP);

  request.set_validate_only(false);
  MustCreate(request);
  EXPECT_EQ(Stored().created_by(), "ann");
  EXPECT_EQ(Create(request).status().reason(), Reason::kScheduleExists);
  request.set_validate_only(true);
  EXPECT_EQ(Create(request).status().reason(), Reason::kScheduleExists);
  const auto listed = coordinator->schedules().List();
  ASSERT_EQ(listed->size(), 1U);
  EXPECT_EQ(listed->at(0).spec().name(), "sweep");
  EXPECT_EQ(listed->at(0).spec().benchmarks_size(), 0);
}

TEST_F(SchedulesTest, Create_RefusesErrorsOfTheCampaignAndTheSchedule) {
  v1::CreateScheduleRequest request = Request();
  AddAxis(*request.mutable_schedule()->mutable_spec()->mutable_benchmarks(0), "dtype", {"bf17"}, 7);
  Status refused = Create(request).status();
  EXPECT_EQ(refused.reason(), Reason::kInvalidCampaign);
  ASSERT_EQ(refused.violations().size(), 1U);
  EXPECT_EQ(refused.violations()[0].line, 7);
  // Only the errors of the campaign itself are listed, not the missing nodes.
  request.mutable_schedule()->mutable_spec()->set_node_filter("name = g31");
  EXPECT_EQ(Create(request).status().violations().size(), 1U);

  request = Request();
  request.mutable_schedule()->mutable_spec()->mutable_benchmarks(0)->set_benchmark("gemn");
  EXPECT_EQ(Create(request).status().reason(), Reason::kInvalidCampaign);
  request = Request();
  request.mutable_schedule()->mutable_spec()->add_accept()->set_text(
      "cpu_gemm.tflops within 5% of baseline golden");
  request.mutable_schedule()->mutable_spec()->set_node_filter("name = g31");
  EXPECT_EQ(Create(request).status().reason(), Reason::kInvalidCampaign);

  EXPECT_EQ(Create(Request("0 0 30 2 *")).status().reason(), Reason::kInvalidSchedule);
  const auto refuses = [&](auto change) {
    v1::CreateScheduleRequest changed = Request();
    change(*changed.mutable_schedule());
    EXPECT_EQ(Create(changed).status().reason(), Reason::kInvalidSchedule);
  };
  refuses([](v1::Schedule& one) { one.clear_name(); });
  refuses([](v1::Schedule& one) { one.set_name(std::string(201, 'n')); });
  refuses([](v1::Schedule& one) { one.set_name("a\nb"); });
  refuses([](v1::Schedule& one) { one.set_time_zone("Mars/Olympus"); });
  refuses([](v1::Schedule& one) { one.set_overlap(static_cast<v1::Overlap>(9)); });
  refuses([](v1::Schedule& one) { one.set_missed_runs(static_cast<v1::MissedRuns>(9)); });
  refuses([](v1::Schedule& one) { one.mutable_spec()->set_node_filter(std::string(70'000, 'x')); });
  EXPECT_TRUE(schedules.List()->empty());
}

TEST_F(SchedulesTest, Create_AcceptsNodesThatAreMissingNow) {
  for (const char* filter : {"name = tonight", "gpu.model = \"B300\""}) {
    v1::CreateScheduleRequest request = Request();
    request.mutable_schedule()->set_name(filter);
    request.mutable_schedule()->mutable_spec()->set_node_filter(filter);
    const auto created = Create(request);
    ASSERT_TRUE(created.ok()) << created.status();
    EXPECT_FALSE(created->has_campaign());
  }
  v1::CreateScheduleRequest request = Request();
  request.mutable_schedule()->mutable_spec()->set_expect_nodes(7);
  MustCreate(request);
}

TEST_F(SchedulesTest, FailedRun_IsRecorded_AndTheScheduleGoesOn) {
  v1::CreateScheduleRequest request = Request();
  request.mutable_schedule()->mutable_spec()->set_node_filter("name = b");
  MustCreate(request);
  Wait(seconds(30));
  EXPECT_EQ(Outcomes(), OutcomeList{kFailed});
  EXPECT_NE(Stored().runs(0).message(), "");
  EXPECT_TRUE(Campaigns().empty());
  const auto other = Attach(b_);
  for (int i = 0; i < 12; ++i) {
    SayState(other, {}, static_cast<uint64_t>(i) + 1);
    Wait(seconds(5));
  }
  EXPECT_EQ(Outcomes(), (OutcomeList{kCreated, kFailed}));
}

TEST_F(SchedulesTest, MissedRuns_Once_StartOneRun) {
  MustCreate(Request("0 * * * *"));
  ReplaceCoordinator(hours(5) + minutes(30));
  EXPECT_TRUE(Campaigns().empty()) << "agents have had no time to connect";
  Wait(minutes(2));
  EXPECT_EQ(Campaigns().size(), 1U);
  EXPECT_EQ(Outcomes(), OutcomeList{kCreated});
  EXPECT_EQ(TimeOf(Stored().runs(0)), start + hours(1));
  EXPECT_EQ(schema::FromTimestamp(Stored().next_time()), start + hours(6));
}

TEST_F(SchedulesTest, MissedRuns_Skip_WaitForTheNextTime) {
  v1::CreateScheduleRequest request = Request("0 * * * *");
  request.mutable_schedule()->set_missed_runs(v1::MISSED_RUNS_SKIP);
  MustCreate(request);
  ReplaceCoordinator(hours(5) + minutes(30));
  Wait(minutes(2));
  EXPECT_TRUE(Campaigns().empty());
  EXPECT_EQ(Outcomes(), OutcomeList{kSkipped});
  EXPECT_EQ(schema::FromTimestamp(Stored().next_time()), start + hours(6));
  // Now the coordinator comes back within five minutes.
  ReplaceCoordinator(minutes(29));
  Wait(minutes(2));
  EXPECT_EQ(Outcomes(), (OutcomeList{kCreated, kSkipped}));
}

TEST_F(SchedulesTest, MissedRuns_Skip_StartTheLatestRunThatIsNotMissed) {
  v1::CreateScheduleRequest request = Request("0 * * * *");
  request.mutable_schedule()->set_missed_runs(v1::MISSED_RUNS_SKIP);
  MustCreate(request);
  ReplaceCoordinator(hours(3) + minutes(1));
  Wait(minutes(1));
  EXPECT_EQ(Outcomes(), (OutcomeList{kCreated, kSkipped}));
  EXPECT_EQ(TimeOf(Stored().runs(0)), start + hours(3));
}

TEST_F(SchedulesTest, Overlap_Skip_WaitsForTheEarlierCampaign) {
  MustCreate(Request());
  Wait(minutes(3));
  EXPECT_EQ(Outcomes(), (OutcomeList{kSkipped, kSkipped, kCreated}));
  CompleteJob();
  Wait(minutes(1));
  EXPECT_EQ(Outcomes(), (OutcomeList{kCreated, kSkipped, kSkipped, kCreated}));
  EXPECT_EQ(Campaigns().size(), 2U);
}

TEST_F(SchedulesTest, Overlap_Skip_RemembersACampaignOfLongAgo) {
  v1::CreateScheduleRequest request = Request();
  request.mutable_schedule()->mutable_spec()->mutable_timeout()->set_seconds(7200);
  MustCreate(request);
  Wait(minutes(30));
  EXPECT_EQ(Campaigns().size(), 1U);
  EXPECT_EQ(Stored().runs_size(), storage::kKeptRuns);
}

TEST_F(SchedulesTest, Overlap_Allow_CreatesBoth) {
  v1::CreateScheduleRequest request = Request();
  request.mutable_schedule()->set_overlap(v1::OVERLAP_ALLOW);
  MustCreate(request);
  Wait(minutes(3));
  EXPECT_EQ(Outcomes(), (OutcomeList{kCreated, kCreated, kCreated}));
  EXPECT_EQ(Campaigns().size(), 3U);
}

TEST_F(SchedulesTest, Overlap_Cancel_CancelsTheEarlierCampaign) {
  v1::CreateScheduleRequest request = Request();
  request.mutable_schedule()->set_overlap(v1::OVERLAP_CANCEL);
  MustCreate(request);
  Wait(seconds(30));
  const v1::Campaign first = Campaigns().at(0);
  EXPECT_EQ(agent->Last(Kind::kCancel), nullptr);
  Wait(minutes(1));
  EXPECT_EQ(Campaigns().size(), 2U);
  ASSERT_NE(agent->Last(Kind::kCancel), nullptr);
  SayFinished(agent, AssignedTo(agent), v1::REASON_CANCELLED);
  EXPECT_EQ(Campaign(first).state(), v1::CAMPAIGN_STATE_CANCELLED);
}

TEST_F(SchedulesTest, CrashBetweenCreationAndRecord_LeavesOneCampaign) {
  for (const v1::MissedRuns missed : {v1::MISSED_RUNS_ONCE, v1::MISSED_RUNS_SKIP}) {
    v1::CreateScheduleRequest request = Request("*/20 * * * *");
    request.mutable_schedule()->set_missed_runs(missed);
    MustCreate(request);
    const WallTime due = schema::FromTimestamp(Stored().next_time());
    const size_t before = Campaigns().size();
    schedules.away = true;
    while (Campaigns().size() == before) Wait(seconds(5));
    EXPECT_EQ(Stored().runs_size(), 0);
    // The next coordinator finds the campaign, also if the run is late by then.
    ReplaceCoordinator(minutes(10));
    schedules.away = false;
    Wait(minutes(2));
    EXPECT_EQ(Campaigns().size(), before + 1);
    EXPECT_EQ(Outcomes(), OutcomeList{kCreated});
    EXPECT_EQ(TimeOf(Stored().runs(0)), due);
    EXPECT_EQ(Stored().runs(0).campaign_id(), Campaigns()[0].campaign_id());
    ASSERT_TRUE(coordinator->schedules().Delete("minutely", kAnn).ok());
  }
}

TEST_F(SchedulesTest, TwoCoordinatorsThatBothLead_CreateOneCampaign) {
  MustCreate(Request());
  const auto other = MakeCoordinator({"other-host", "10.0.0.2:7900"});
  const WallTime due = schema::FromTimestamp(Stored().next_time());
  clock.Advance(due - clock.WallNow());
  schedules.away = true;
  EXPECT_EQ(coordinator->schedules().RunDue().code(), Code::kUnavailable);
  schedules.away = false;
  EXPECT_TRUE(other->schedules().RunDue().ok());
  EXPECT_TRUE(coordinator->schedules().RunDue().ok());
  EXPECT_EQ(Campaigns().size(), 1U);
  EXPECT_EQ(Outcomes(), OutcomeList{kCreated});
}

TEST_F(SchedulesTest, DeposedLeader_RecordsNothing) {
  MustCreate(Request());
  clock.Advance(minutes(2));
  ASSERT_EQ(fleet.Elect("another", "10.0.0.3:7900", seconds(30))->owner, "another");
  EXPECT_TRUE(coordinator->schedules().RunDue().ok());
  EXPECT_EQ(Stored().runs_size(), 0);
}

TEST_F(SchedulesTest, ClockThatJumpsBack_RunsNothingTwice) {
  MustCreate(Request("*/10 * * * *"));
  Wait(minutes(10));
  ASSERT_EQ(Campaigns().size(), 1U);
  CompleteJob();
  clock.JumpWall(-minutes(9));
  Wait(minutes(15));
  EXPECT_EQ(Campaigns().size(), 1U);
  Wait(minutes(4));
  EXPECT_EQ(Campaigns().size(), 2U);
}

TEST_F(SchedulesTest, ClockThatJumpsForward_RunsOnce) {
  v1::CreateScheduleRequest request = Request("*/10 * * * *");
  request.mutable_schedule()->set_overlap(v1::OVERLAP_ALLOW);
  MustCreate(request);
  clock.JumpWall(hours(50));
  Wait(minutes(1));
  EXPECT_EQ(Campaigns().size(), 1U);
  EXPECT_EQ(schema::FromTimestamp(Stored().next_time()), start + hours(50) + minutes(10));
}

TEST_F(SchedulesTest, ManyDueSchedules_AllRun) {
  v1::CreateScheduleRequest request = Request();
  for (int i = 0; i < 150; ++i) {
    request.mutable_schedule()->set_name("s" + std::to_string(i));
    MustCreate(request);
  }
  Wait(seconds(50));
  EXPECT_EQ(Campaigns().size(), 150U);
}

TEST_F(SchedulesTest, Submitters_RemoveOnlyTheirOwnSchedules) {
  MustCreate(Request());
  EXPECT_EQ(coordinator->schedules().Delete("minutely", kBob).code(), Code::kPermissionDenied);
  EXPECT_EQ(coordinator->schedules().Delete("hourly", kAnn).code(), Code::kNotFound);
  EXPECT_TRUE(coordinator->schedules().Delete("minutely", kAnn).ok());
  MustCreate(Request());
  EXPECT_TRUE(coordinator->schedules().Delete("minutely", kLocalAdmin).ok());
  Wait(minutes(2));
  EXPECT_TRUE(Campaigns().empty());
}

}  // namespace
}  // namespace assay::coordinator
