// The parts of `assay-agent join`: copied folders, renewal, the process in the background, options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "agent/join/background.h"
#include "agent/join/machine.h"
#include "agent/join/renewer.h"
#include "agent/options.h"
#include "common/file.h"
#include "common/text.h"
#include "tests/temporary_folder.h"
#include "tests/virtual_clock.h"

namespace assay::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsSupersetOf;
using ::testing::Le;
using namespace std::chrono_literals;

TEST(MachineTest, TwoMachines_AreToldFromARebootAndAnUpgrade) {
  const MachineFacts host{"boot-1", "machine-1", ""};
  EXPECT_FALSE(AreTwoMachines(host, {"boot-2", "machine-1", ""})) << "reboot";
  EXPECT_FALSE(AreTwoMachines(host, {"boot-1", "", ""})) << "container on the same host";
  EXPECT_FALSE(AreTwoMachines(host, {"boot-2", "", ""})) << "not known";
  EXPECT_TRUE(AreTwoMachines(host, {"boot-2", "machine-2", ""}));
  const MachineFacts rented{"boot-1", "", "C.1"};
  EXPECT_FALSE(AreTwoMachines(rented, {"boot-2", "", "C.1"})) << "restart of the rental";
  EXPECT_FALSE(AreTwoMachines(rented, {"boot-1", "", "C.2"})) << "the same boot";
  EXPECT_TRUE(AreTwoMachines(rented, {"boot-2", "", "C.2"}));
}

TEST(MachineTest, CopiedFolderIsRefused) {
  const TemporaryFolder folder;
  EXPECT_TRUE(CheckMachine(folder.path(), {"boot-1", "machine-1", ""}).ok());
  EXPECT_TRUE(CheckMachine(folder.path(), {"boot-2", "machine-1", ""}).ok());
  // Facts known only now are remembered, and those not known now are kept.
  EXPECT_TRUE(CheckMachine(folder.path(), {"boot-3", "", "C.1"}).ok());
  const Status copied = CheckMachine(folder.path(), {"boot-4", "machine-2", ""});
  EXPECT_EQ(copied.code(), Code::kFailedPrecondition);
  EXPECT_EQ(copied.reason(), Reason::kCopiedFolder);
  EXPECT_EQ(CheckMachine(folder.path(), {"boot-4", "", "C.2"}).reason(), Reason::kCopiedFolder);
  std::ofstream(folder.path() + "/machine.json") << "{";
  EXPECT_TRUE(CheckMachine(folder.path(), {"boot-4", "machine-2", ""}).ok());
}

TEST(MachineTest, MachineIdCountsOnlyWhereItSurvivesReboots) {
  const TemporaryFolder root;
  std::filesystem::create_directories(root.path() + "/etc");
  std::ofstream(root.path() + "/etc/machine-id") << "abc\n";
  EXPECT_EQ(ReadMachine({}, root.path()).machine_id, "") << "a container";
  std::filesystem::create_directories(root.path() + "/run/systemd/system");
  EXPECT_EQ(ReadMachine({}, root.path()).machine_id, "abc");
  std::ofstream(root.path() + "/run/machine-id") << "abc\n";
  EXPECT_EQ(ReadMachine({}, root.path()).machine_id, "") << "a machine without a disk";
}

class RenewalTest : public ::testing::Test {
 protected:
  // Returns a certificate of an hour that is issued now.
  identity::Enrolled Issued() {
    identity::Enrolled enrolled;
    enrolled.issue_time = clock_.WallNow() - 5min;
    enrolled.expire_time = clock_.WallNow() + 1h;
    return enrolled;
  }

  Result<identity::Enrolled> Answer(const Status& error) {
    if (!error.ok()) return error;
    return Issued();
  }

  RenewalSchedule Schedule() {
    Renewal renewal;
    renewal.by_session = [this] { return ++calls_, Answer(call_); };
    renewal.by_key = [this] { return ++key_calls_, Answer(key_call_); };
    renewal.renewed = [this] { ++renewed_; };
    renewal.refused = [this](const Status& why) { refused_ = why; };
    return RenewalSchedule(clock_, Issued(), renewal, /*seed=*/1);
  }

  VirtualClock clock_;
  Status call_;
  Status key_call_;
  int calls_ = 0;
  int key_calls_ = 0;
  int renewed_ = 0;
  Status refused_;
};

const Status kAwayError = Unavailable("away");

TEST_F(RenewalTest, RenewsAfterTwoThirds) {
  RenewalSchedule schedule = Schedule();
  for (int i = 1; i <= 3; ++i) {
    const Duration wait = schedule.Step();
    EXPECT_THAT(wait, AllOf(Ge(Duration(36min)), Le(Duration(40min))));
    EXPECT_EQ(renewed_, i - 1);
    clock_.Advance(wait);
    schedule.Step();
    EXPECT_EQ(renewed_, i);
  }
  EXPECT_EQ(key_calls_, 0);
}

TEST_F(RenewalTest, WrongClockDoesNotMatter) {
  RenewalSchedule schedule = Schedule();
  clock_.Advance(40min);
  clock_.JumpWall(50min);
  EXPECT_THAT(schedule.Step(), Ge(Duration(36min)));
  EXPECT_THAT(schedule.Step(), Ge(Duration(36min)));
  EXPECT_EQ(renewed_, 1);
}

TEST_F(RenewalTest, AbsentCoordinator_TheKeyIsUsedLateAndAfterTheEnd) {
  RenewalSchedule schedule = Schedule();
  call_ = kAwayError;
  key_call_ = kAwayError;
  clock_.Advance(40min);
  EXPECT_EQ(schedule.Step(), 2min);
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(key_calls_, 0);
  clock_.Advance(12min);
  schedule.Step();
  EXPECT_EQ(key_calls_, 1);
  clock_.Advance(24h);
  schedule.Step();
  EXPECT_EQ(calls_, 2) << "an expired certificate cannot be used for a call";
  EXPECT_EQ(key_calls_, 2);
  key_call_ = Status::Ok();
  clock_.Advance(2min);
  EXPECT_THAT(schedule.Step(), Ge(Duration(36min)));
  EXPECT_EQ(renewed_, 1);
  EXPECT_TRUE(refused_.ok());
}

TEST_F(RenewalTest, BannedOrRemovedNode_IsToldOnce) {
  RenewalSchedule schedule = Schedule();
  call_ = Status(Code::kPermissionDenied, Reason::kBanned, "banned");
  clock_.Advance(40min);
  EXPECT_THAT(schedule.Step(), Ge(Duration(24h)));
  EXPECT_EQ(refused_.reason(), Reason::kBanned);
  EXPECT_EQ(key_calls_, 0);
}

class BackgroundTest : public ::testing::Test {
 protected:
  ~BackgroundTest() override { static_cast<void>(StopBackground(folder_.path())); }

  // Runs a shell script in the place of the agent. Descriptor 3 is the report.
  Status Start(const std::string& script) {
    return StartInBackground({folder_.path(), {"/bin/sh", "-c", script, "agent"}, "--report"}, 30s);
  }

  std::string LogText() { return ReadFile(BackgroundLog(folder_.path())).value(); }

  static constexpr char kAttached[] = R"(echo '{"grpc": ""}' >&3; exec 3>&-; )";
  TemporaryFolder folder_;
};

TEST_F(BackgroundTest, StartsOnceAndStops) {
  const std::string script =
      std::string("echo out; echo error >&2; echo $1; ") + kAttached + "exec sleep 600";
  const Status started = Start(script);
  ASSERT_TRUE(started.ok()) << started;
  EXPECT_EQ(Start(script).reason(), Reason::kAlreadyRunning);
  const std::string log = LogText();
  EXPECT_THAT(Split(log, '\n'), IsSupersetOf({"out", "error", "--report=3"}));
  EXPECT_TRUE(StopBackground(folder_.path()).ok());
  EXPECT_EQ(StopBackground(folder_.path()).code(), Code::kNotFound);
  EXPECT_TRUE(Start(script).ok());
}

TEST_F(BackgroundTest, AgentThatFailsBeforeItIsAttached_LeavesNothingBehind) {
  EXPECT_EQ(Start("exit 1").reason(), Reason::kChildFailed);
  const Status banned =
      Start(R"(echo '{"error": {"code": 7, "reason": "BANNED", "message": "b"}}' >&3; exit 2)");
  EXPECT_EQ(banned.reason(), Reason::kBanned);
  EXPECT_EQ(StopBackground("/nonexistent").code(), Code::kNotFound);
}

TEST_F(BackgroundTest, AttachedAgentThatCrashes_IsStartedAgain) {
  const std::string again = folder_.path() + "/again";
  // The second start ends the process for good, and the pipe says so.
  ASSERT_EQ(::mkfifo(again.c_str(), 0600), 0);
  ASSERT_TRUE(Start("if [ -z \"$1\" ]; then echo again >" + again + "; exit 0; fi; " + kAttached +
                    "kill -9 $$")
                  .ok());
  std::ifstream pipe(again);
  std::string line;
  EXPECT_TRUE(std::getline(pipe, line));
  EXPECT_EQ(line, "again");
}

template <typename Parse>
auto ParseWords(std::vector<std::string> words, const Parse& parse) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return parse(static_cast<int>(arguments.size()), arguments.data());
}

TEST(JoinOptionsTest, AgentsOptionsAreHandedOn) {
  ::setenv("ASSAY_INVITE", "assay1.token", 1);
  const ParsedJoin parsed = ParseWords(
      {"join", "--url", "https://a:1", "--pin", "p", "--detach", "--label", "a=1", "--label", "b=2",
       "--http", "", "--insecure", "--data", "relative", "--gpus", "0,1"},
      ParseJoinOptions);
  ASSERT_TRUE(parsed.options);
  EXPECT_EQ(parsed.options->token, "assay1.token");
  EXPECT_EQ(std::getenv("ASSAY_INVITE"), nullptr);
  EXPECT_TRUE(parsed.options->detach);
  const std::vector<std::string>& handed_on = parsed.options->agent_arguments;
  const std::string data = std::filesystem::absolute("relative").string();
  // In particular, no argument contains the token.
  EXPECT_THAT(handed_on, ElementsAre("--label", "a=1", "--label", "b=2", "--gpus", "0", "--gpus",
                                     "1", "--insecure", "--data", data, "--http", ""));
  std::vector<std::string> words = handed_on;
  words.insert(words.begin(), "assay-agent");
  const ParsedOptions agent = ParseWords(words, ParseOptions);
  ASSERT_TRUE(agent.options) << ::testing::PrintToString(handed_on);
  EXPECT_EQ(agent.options->labels.size(), 2u);
  EXPECT_EQ(agent.options->http, "");
  EXPECT_EQ(agent.options->gpus.size(), 2u);
  EXPECT_TRUE(agent.options->insecure);
  EXPECT_EQ(agent.options->data, data);
}

TEST(JoinOptionsTest, MissingTokenOrForeignTls_IsAnError) {
  ::unsetenv("ASSAY_INVITE");
  const std::vector<std::string> words = {"join", "--url", "https://a:1", "--pin", "p"};
  EXPECT_EQ(ParseWords(words, ParseJoinOptions).exit_code, 2);
  std::vector<std::string> with_tls = words;
  with_tls.insert(with_tls.end(), {"assay1.token", "--tls-ca", "ca.pem"});
  EXPECT_EQ(ParseWords(with_tls, ParseJoinOptions).exit_code, 2);
  EXPECT_EQ(ParseWords({"join", "assay1.token"}, ParseJoinOptions).exit_code, 2);
}

}  // namespace
}  // namespace assay::agent
