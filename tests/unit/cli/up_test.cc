// assay up with a real PostgreSQL and scripts in place of coordinator and agent.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/up/private_postgres.h"
#include "common/file.h"
#include "common/subprocess.h"
#include "tests/temporary_folder.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

// A server that logs its arguments, writes its process id to a file and runs until SIGTERM.
constexpr char kServer[] = R"(#!/bin/bash
name=${0##*/}
echo "$name started with $*"
echo $$ > "${0%/*}/pid-$name"
trap 'echo "$name stopped" >> "${0%/*}/stopped"; exit 0' TERM
echo '{"grpc":"127.0.0.1:7900","http":"127.0.0.1:9900"}' >&3
exec 3>&-
while true; do read -t 0.05 <> <(:) ; done
)";

// One `assay up`, its output read through pipes.
class RunningUp {
 public:
  RunningUp(const std::string& program, const std::vector<std::string>& arguments) {
    auto out = MakePipe();
    auto err = MakePipe();
    SubprocessOptions options;
    options.argv = {program, "up"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.descriptors = {{1, out->write.get()}, {2, err->write.get()}};
    auto spawned = Subprocess::Spawn(options);
    EXPECT_TRUE(spawned.ok()) << spawned.status();
    if (spawned.ok()) process_.emplace(std::move(*spawned));
    out_ = std::move(out->read);
    err_ = std::move(err->read);
  }

  // Blocks until stdout or stderr has `text`; false if both ended without it.
  bool Await(const std::string& text) {
    while (text_.find(text) == std::string::npos) {
      if (!ReadMore()) return false;
    }
    return true;
  }

  void Signal(int signal) { process_->Signal(signal); }

  // Returns the output on stdout so far.
  const std::string& printed() const { return printed_; }

  // Waits for the end. Returns the exit code and everything that was printed.
  std::pair<int, std::string> Finish() {
    while (ReadMore()) {
    }
    const auto exit = process_->Wait(std::chrono::seconds(60));
    return {exit ? exit->code : -1, text_};
  }

 private:
  bool ReadMore() {
    std::array<pollfd, 2> polled = {{{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}}};
    if (!out_.valid() && !err_.valid()) return false;
    poll(polled.data(), polled.size(), -1);
    const bool first = polled[0].revents != 0;
    FileDescriptor& ready = first ? out_ : err_;
    std::array<char, 1024> chunk{};
    const ssize_t got = read(ready.get(), chunk.data(), chunk.size());
    if (got <= 0) {
      ready.Close();
    } else {
      text_.append(chunk.data(), static_cast<size_t>(got));
      if (first) printed_.append(chunk.data(), static_cast<size_t>(got));
    }
    return true;
  }

  std::optional<Subprocess> process_;
  FileDescriptor out_;
  FileDescriptor err_;
  std::string text_;
  std::string printed_;
};

class UpTest : public testing::Test {
 protected:
  // Every test copies this database, because initdb takes seconds.
  static void SetUpTestSuite() {
    cluster_ = new TemporaryFolder();
    PrivatePostgresOptions options;
    options.fsync = false;
    options.die_with_parent = true;
    const auto made = PrivatePostgres::Start(cluster_->path() + "/postgres", options);
    ASSERT_TRUE(made.ok()) << made.status();
  }
  static void TearDownTestSuite() { delete cluster_; }

  UpTest() {
    std::filesystem::create_directories(data());
    const std::string copy = "cp -a " + cluster_->path() + "/postgres " + data() + "/postgres";
    EXPECT_EQ(std::system(copy.c_str()), 0);
    program_ = folder_.path() + "/assay";
    std::filesystem::copy_file(ASSAY_PROGRAM, program_);
    Write("assay-coordinator", kServer);
    Write("assay-agent", kServer);
  }

  void Write(const std::string& name, const std::string& script) {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::trunc) << script;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  std::string Read(const std::string& name) {
    return ReadFile(folder_.path() + "/" + name).value();
  }

  // Returns `text` without the name of the test's folder.
  std::string Unplaced(std::string text) const {
    for (size_t at; (at = text.find(folder_.path())) != std::string::npos;) {
      text.replace(at, folder_.path().size(), "FOLDER");
    }
    return text;
  }

  // Kills the script that runs under this name.
  void KillProcess(const std::string& name) {
    ASSERT_EQ(kill(std::stoi(Read("pid-" + name)), SIGKILL), 0);
  }

  std::string data() const { return folder_.path() + "/data"; }

  // Returns arguments for the test's folder and free ports.
  std::vector<std::string> Anywhere(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"--data", data(),        "--listen",  "127.0.0.1:0",
                                          "--http", "127.0.0.1:0", "--console", "127.0.0.1:0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  static inline TemporaryFolder* cluster_ = nullptr;
  TemporaryFolder folder_;
  std::string program_;
};

TEST_F(UpTest, StartsEverythingAndStopsInOrder) {
  RunningUp up(program_, {"--data", data(), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:9950",
                          "--console", "127.0.0.1:0"});
  ASSERT_TRUE(up.Await("Stop it with Ctrl-C.")) << up.Finish().second;

  RunningUp second(program_, {"--data", data()});
  const auto [refused, why] = second.Finish();
  EXPECT_EQ(refused, 4);
  EXPECT_NE(why.find(data()), std::string::npos) << why;

  up.Signal(SIGTERM);
  const auto [code, text] = up.Finish();
  EXPECT_EQ(code, 0) << text;
  EXPECT_WORDING("cli/up-ready", Unplaced(up.printed()));
  EXPECT_EQ(Read("stopped"), "assay-agent stopped\nassay-coordinator stopped\n");
  EXPECT_EQ(Read("data/log/coordinator.log"),
            "assay-coordinator started with --listen 127.0.0.1:0 --http 127.0.0.1:9950 --console "
            "127.0.0.1:0 --ready-fd 3\n");
  EXPECT_EQ(Read("data/log/agent.log"),
            "assay-agent started with --data " + data() +
                "/agent --coordinator 127.0.0.1:7900 --listen 127.0.0.1:0 --http 127.0.0.1:9951 "
                "--ready-fd 3\n");
}

// The log file still holds an earlier start, whose lines must not be quoted.
TEST_F(UpTest, ChildThatCannotStart_EndOfItsOwnLogIsShown) {
  std::filesystem::create_directories(data() + "/log");
  std::ofstream(data() + "/log/coordinator.log") << "a line of an earlier start\n";
  Write("assay-coordinator", "#!/bin/bash\necho 'no such database'\nexit 1\n");
  RunningUp up(program_, Anywhere({"--no-agent"}));
  const auto [code, text] = up.Finish();
  EXPECT_EQ(code, 1);
  EXPECT_WORDING("cli/up-child-log", Unplaced(text.substr(text.find("assay: "))));
}

TEST_F(UpTest, ChildThatReportsAnError_ItsMessageAndHintAreShown) {
  Write(
      "assay-coordinator",
      "#!/bin/bash\necho '{\"error\":{\"code\":3,\"reason\":\"ADDRESS_IN_USE\",\"message\":"
      "\"cannot listen on 127.0.0.1:7900\",\"hint\":\"choose another --listen\"}}' >&3\nexit 2\n");
  RunningUp up(program_, Anywhere({"--no-agent"}));
  const auto [code, text] = up.Finish();
  EXPECT_EQ(code, 2);
  EXPECT_WORDING("cli/up-child-error", text.substr(text.find("assay: ")));
}

TEST_F(UpTest, ChildThatRefusesItsArguments_ExitCodeIsPassedOn) {
  for (const int status : {1, 2}) {
    Write("assay-coordinator", "#!/bin/bash\nexit " + std::to_string(status) + "\n");
    RunningUp up(program_, Anywhere({"--no-agent"}));
    const auto [code, text] = up.Finish();
    EXPECT_EQ(code, status) << text;
  }
}

TEST_F(UpTest, ChildThatIsKilled_IsStartedAgainWhereItServed) {
  RunningUp up(program_, Anywhere());
  ASSERT_TRUE(up.Await("Stop it with Ctrl-C.")) << up.Finish().second;
  const std::string coordinator = Read("pid-assay-coordinator");
  KillProcess("assay-agent");
  ASSERT_TRUE(up.Await("assay: assay-agent is up again\n")) << up.Finish().second;
  EXPECT_EQ(Read("pid-assay-coordinator"), coordinator);
  EXPECT_NE(Read("data/log/agent.log")
                .find("--coordinator 127.0.0.1:7900 --listen "
                      "127.0.0.1:7900 --http 127.0.0.1:9900"),
            std::string::npos);
  KillProcess("assay-coordinator");
  ASSERT_TRUE(up.Await("assay: assay-coordinator is up again\n")) << up.Finish().second;
  EXPECT_NE(Read("pid-assay-coordinator"), coordinator);
  up.Signal(SIGTERM);
  const auto [code, text] = up.Finish();
  EXPECT_EQ(code, 0);
  EXPECT_EQ(Read("stopped"), "assay-agent stopped\nassay-coordinator stopped\n");
}

TEST_F(UpTest, ChildThatKeepsEnding_IsRestartedWithGrowingDelays) {
  RunningUp up(program_, Anywhere({"--no-agent"}));
  ASSERT_TRUE(up.Await("Stop it with Ctrl-C.")) << up.Finish().second;
  Write("assay-coordinator", "#!/bin/bash\necho broken\nexit 7\n");
  KillProcess("assay-coordinator");
  ASSERT_TRUE(up.Await("assay: restarting assay-coordinator in 1 s\n"));
  ASSERT_TRUE(up.Await("assay: restarting assay-coordinator in 2 s\n"));
  // A signal ends the wait for the next restart.
  up.Signal(SIGINT);
  EXPECT_EQ(up.Finish().first, 0);
}

TEST_F(UpTest, PostgresThatIsKilled_IsStartedAgain) {
  RunningUp up(program_, Anywhere({"--no-agent"}));
  ASSERT_TRUE(up.Await("Stop it with Ctrl-C.")) << up.Finish().second;
  ASSERT_EQ(kill(std::stoi(Read("data/postgres/data/postmaster.pid")), SIGKILL), 0);
  ASSERT_TRUE(up.Await("assay: PostgreSQL is up again\n")) << up.Finish().second;
  up.Signal(SIGTERM);
  EXPECT_EQ(up.Finish().first, 0);
}

TEST_F(UpTest, ProgramThatIsMissing_IsNamed) {
  std::filesystem::remove(folder_.path() + "/assay-coordinator");
  RunningUp up(program_, Anywhere());
  const auto [code, text] = up.Finish();
  EXPECT_EQ(code, 1);
  EXPECT_NE(text.find(folder_.path() + "/assay-coordinator"), std::string::npos) << text;
}

TEST_F(UpTest, AddressOrFolderThatIsUnusable_ExitsWith2) {
  Write("file", "");
  EXPECT_EQ(RunningUp(program_, {"--data", folder_.path() + "/file/data"}).Finish().first, 2);
  EXPECT_EQ(RunningUp(program_, {"--data", data(), "--listen", "nowhere"}).Finish().first, 2);
}

TEST_F(UpTest, PublicFleet_DoesNotStartWithoutPublic) {
  std::filesystem::create_directory(data() + "/authority");
  const auto [code, text] = RunningUp(program_, Anywhere()).Finish();
  EXPECT_EQ(code, 2);
  EXPECT_WORDING("up/public-fleet", Unplaced(text));
}

}  // namespace
}  // namespace assay::cli
