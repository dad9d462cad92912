// assay up with a real PostgreSQL and servers that do as they are told.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/digest.h"
#include "common/subprocess.h"
#include "tests/temporary_folder.h"

namespace assay::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Writes its arguments, serves until SIGTERM, and says so.
constexpr char kServer[] = R"(#!/bin/bash
name=${0##*/}
echo "$name started with $*"
trap 'echo "$name stopped" >> "${0%/*}/stopped"; exit 0' TERM
echo '{"grpc":"127.0.0.1:7900","http":"127.0.0.1:9900"}' >&3
exec 3>&-
while [ ! -e "${0%/*}/crash-$name" ]; do read -t 0.05 <> <(:) ; done
echo "$name gives up"
exit 7
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

  // Everything it wrote, and its exit code.
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
    }
    return true;
  }

  std::optional<Subprocess> process_;
  FileDescriptor out_;
  FileDescriptor err_;
  std::string text_;
};

class UpTest : public testing::Test {
 protected:
  UpTest() {
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

  std::string data() const { return folder_.path() + "/data"; }

  // Its folder, and ports that nobody has.
  std::vector<std::string> Anywhere(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"--data",      data(),   "--listen",
                                          "127.0.0.1:0", "--http", "127.0.0.1:0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  TemporaryFolder folder_;
  std::string program_;
};

TEST_F(UpTest, StartsAllSaysSoAndStopsInOrder) {
  RunningUp up(program_, {"--data", data(), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:9950"});
  ASSERT_TRUE(up.Await("Stop it with Ctrl-C.")) << up.Finish().second;

  RunningUp second(program_, {"--data", data()});
  const auto [refused, why] = second.Finish();
  EXPECT_EQ(refused, 4);
  EXPECT_THAT(why, HasSubstr("assay: assay up already runs on " + data() + " (process "));

  up.Signal(SIGTERM);
  const auto [code, text] = up.Finish();
  EXPECT_EQ(code, 0) << text;
  EXPECT_THAT(text, HasSubstr("  Coordinator:  127.0.0.1:7900   metrics: "
                              "http://127.0.0.1:9900/metrics\n  Agent:        127.0.0.1:7900"));
  EXPECT_THAT(text, HasSubstr("assay campaign submit examples/quickstart.yaml --watch"));
  EXPECT_EQ(Read("stopped"), "assay-agent stopped\nassay-coordinator stopped\n");
  EXPECT_EQ(Read("data/log/coordinator.log"),
            "assay-coordinator started with --listen 127.0.0.1:0 --http 127.0.0.1:9950 --ready-fd "
            "3\n");
  EXPECT_EQ(Read("data/log/agent.log"),
            "assay-agent started with --data " + data() +
                "/agent --coordinator 127.0.0.1:7900 --listen 127.0.0.1:0 --http 127.0.0.1:9951 "
                "--ready-fd 3\n");
}

TEST_F(UpTest, PortsThatCollideAreRefusedBeforeAnythingStarts) {
  // Without the check this ends too, for want of a program.
  std::filesystem::remove(folder_.path() + "/assay-coordinator");
  struct Bad {
    std::string listen, http, why;
    bool no_agent = false;
  };
  const std::string two_apart =
      "the agent takes the port after each of the coordinator's, so let these be two apart or "
      "more: for example --http ";
  for (const Bad& bad : std::vector<Bad>{
           {"127.0.0.1:17931", "127.0.0.1:17932",
            "--listen 127.0.0.1:17931 and --http 127.0.0.1:17932 collide: the agent's gRPC and "
            "the coordinator's HTTP would both have port 17932\nhint: " +
                two_apart + "127.0.0.1:17933\n"},
           {"0.0.0.0:17931", "127.0.0.1:17930",
            "the agent's HTTP and the coordinator's gRPC would both have port 17931\nhint: " +
                two_apart + "127.0.0.1:17933\n"},
           {"127.0.0.1:65533", "localhost:65533",
            "the coordinator's gRPC and the coordinator's HTTP would both have port 65533\nhint: " +
                two_apart + "localhost:65531\n"},
           {"0:17931", "127.0.0.1:17931", "would both have port 17931\nhint: give each a port",
            true},
           {"0.0.0.0:17931", "[::1]:17931", "would both have port 17931\nhint: give each a port",
            true},
           {"[::]:17931", "[::1]:17931",
            "would both have port 17931\nhint: give each a port of its own: for example --http "
            "[::1]:17933\n",
            true},
           {"127.0.0.1:7900", "127.0.0.1:65535",
            "--http 127.0.0.1:65535 leaves no port for the agent\nhint: the agent takes the next "
            "port: give one up to 65534\n"}}) {
    std::vector<std::string> arguments = {"--data",   data(),   "--listen",
                                          bad.listen, "--http", bad.http};
    if (bad.no_agent) arguments.emplace_back("--no-agent");
    RunningUp up(program_, arguments);
    const auto [code, text] = up.Finish();
    EXPECT_EQ(code, 2) << bad.why;
    EXPECT_THAT(text, HasSubstr(bad.why));
    EXPECT_FALSE(std::filesystem::exists(data())) << bad.why;
  }
}

TEST_F(UpTest, PortsThatDoNotCollideAreTaken) {
  // Ends past the check of the ports, before PostgreSQL.
  std::filesystem::remove(folder_.path() + "/assay-coordinator");
  for (const std::vector<std::string>& good : std::vector<std::vector<std::string>>{
           {"--listen", "127.0.0.1:17931", "--http", "127.0.0.1:17933"},
           {"--listen", "127.0.0.1:17931", "--http", "127.0.0.2:17932"},
           {"--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"},
           {"--listen", "127.0.0.1:0", "--http", "127.0.0.1:1"},
           {"--listen", "127.0.0.1:17931", "--http", "127.0.0.1:17932", "--no-agent"},
           {"--listen", "[::1]:17931", "--http", "0.0.0.0:17931", "--no-agent"},
           {"--listen", "127.0.0.1:65534", "--http", "127.0.0.1:65535", "--no-agent"}}) {
    std::vector<std::string> arguments = {"--data", data()};
    arguments.insert(arguments.end(), good.begin(), good.end());
    RunningUp up(program_, arguments);
    const auto [code, text] = up.Finish();
    EXPECT_EQ(code, 1) << good[1];
    EXPECT_THAT(text, HasSubstr("cannot run " + folder_.path() + "/assay-coordinator"));
  }
}

// A server that is not ours, on a port whose neighbour below is free.
class OtherServer {
 public:
  explicit OtherServer(uint32_t address) {
    for (port_ = 0; port_ == 0;) {
      socket_ = Listen(address, 0);
      sockaddr_in bound = {};
      socklen_t size = sizeof bound;
      getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&bound), &size);
      if (Listen(INADDR_ANY, ntohs(bound.sin_port) - 1).valid()) port_ = ntohs(bound.sin_port);
    }
  }

  int port() const { return port_; }

 private:
  static FileDescriptor Listen(uint32_t address, int port) {
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in where = {};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(address);
    where.sin_port = htons(static_cast<uint16_t>(port));
    const bool bound =
        bind(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0;
    return bound && listen(socket.get(), 1) == 0 ? std::move(socket) : FileDescriptor();
  }

  int port_ = 0;
  FileDescriptor socket_;
};

TEST_F(UpTest, APortThatIsTakenIsNamedBeforePostgresStarts) {
  const OtherServer any(INADDR_ANY);
  const OtherServer local(INADDR_LOOPBACK);
  const auto at = [](const std::string& host, int port) {
    return host + ":" + std::to_string(port);
  };
  const std::string taken_any = at("127.0.0.1", any.port());
  const std::string below = at("127.0.0.1", any.port() - 1);
  const std::string everywhere = at("0.0.0.0", local.port());
  const std::string hint =
      " already\nhint: `ss -ltnp` says which: end it, or give other ports with --listen and --http "
      "(0 is any free one)\n";
  struct Bad {
    std::vector<std::string> arguments;
    std::string why;
  };
  for (const Bad& bad : std::vector<Bad>{
           {{"--listen", taken_any},
            "--listen " + taken_any + ": another program listens on " + taken_any + hint},
           {{"--http", taken_any}, "--http " + taken_any + ": another program listens on "},
           {{"--listen", below},
            "--listen " + below +
                ": the agent takes the next port, and another program listens on " + taken_any +
                hint},
           {{"--listen", everywhere, "--insecure"},
            "--listen " + everywhere + ": another program listens on port " +
                std::to_string(local.port()) + " of an address of this machine" + hint},
           {{"--http", everywhere}, "--http " + everywhere + ": another program listens on port "},
           {{"--listen", "192.0.2.1:7900", "--insecure"},
            "--listen 192.0.2.1:7900: 192.0.2.1 is no address of this machine\nhint: "},
           {{"--listen", "no.such.host.invalid:7900", "--insecure"},
            "--listen no.such.host.invalid:7900: no address is known of no.such.host.invalid: "},
           {{"--listen", "0.0.0.0:0"},
            "will not listen on 0.0.0.0:0 without TLS: it is not a loopback address\nhint: give "
            "--tls-cert, --tls-key and --tls-ca, or --insecure on a network you trust\n"}}) {
    std::vector<std::string> arguments = {"--data", data()};
    for (const char* flag : {"--listen", "--http"}) {
      if (bad.arguments[0] != flag) arguments.insert(arguments.end(), {flag, "127.0.0.1:0"});
    }
    arguments.insert(arguments.end(), bad.arguments.begin(), bad.arguments.end());
    RunningUp up(program_, arguments);
    const auto [code, text] = up.Finish();
    EXPECT_EQ(code, 2) << bad.why;
    EXPECT_THAT(text, HasSubstr("assay: " + bad.why));
    EXPECT_THAT(text, Not(HasSubstr("Starting PostgreSQL")));
  }
}

// gRPC would listen on 127.0.0.1, and the agent dial ::1.
TEST_F(UpTest, APortOfLocalhostIsToBeFreeOnBothItsAddresses) {
  FileDescriptor socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 where = {};
  where.sin6_family = AF_INET6;
  where.sin6_addr = in6addr_loopback;
  socklen_t size = sizeof where;
  if (bind(socket.get(), reinterpret_cast<sockaddr*>(&where), size) != 0) {
    GTEST_SKIP() << "no [::1] here";
  }
  ASSERT_EQ(listen(socket.get(), 1), 0);
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&where), &size);
  const std::string port = std::to_string(ntohs(where.sin6_port));
  RunningUp up(program_, {"--data", data(), "--listen", "localhost:" + port, "--http",
                          "127.0.0.1:0", "--no-agent"});
  const auto [code, text] = up.Finish();
  EXPECT_EQ(code, 2);
  EXPECT_THAT(text, HasSubstr("assay: --listen localhost:" + port +
                              ": another program listens on [::1]:" + port +
                              ", an address of localhost, already\nhint: `ss -ltnp` says which"));
  EXPECT_THAT(text, Not(HasSubstr("Starting PostgreSQL")));
}

// It was up, and its agent never came.
TEST_F(UpTest, ACertificateThatTheAgentWouldNotTakeIsRefused) {
  const std::string base = folder_.path() + "/server";
  const auto make = [&](const std::string& names) {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj "
        "/CN=127.0.0.1 -addext subjectAltName=" +
        names + " -keyout " + base + ".key -out " + base + ".pem >/dev/null 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0);
  };
  const auto run = [&](const std::string& listen, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"--tls-cert", base + ".pem", "--tls-key", base + ".key"};
    arguments.insert(arguments.end(),
                     {"--data", data(), "--listen", listen, "--http", "127.0.0.1:0"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunningUp(program_, arguments).Finish();
  };
  Write("assay-coordinator", "#!/bin/bash\nexit 1\n");  // Past the check.
  make("DNS:vm.example");
  const auto [code, text] = run("0.0.0.0:0", {});
  EXPECT_EQ(code, 2);
  EXPECT_THAT(text,
              HasSubstr("assay: --listen 0.0.0.0:0: the agent here dials 127.0.0.1, and " + base +
                        ".pem is no certificate of 127.0.0.1\nhint: give it the "
                        "subjectAltName 127.0.0.1 too, or --listen with a name of this "
                        "machine that it has\n"));
  EXPECT_EQ(run("0.0.0.0:0", {"--no-agent"}).first, 1);
  make("IP:192.0.2.1");  // gRPC takes no address from the subject, which is 127.0.0.1.
  EXPECT_EQ(run("0.0.0.0:0", {}).first, 2);
  make("DNS:vm.example,IP:127.0.0.1");
  EXPECT_EQ(run("0.0.0.0:0", {}).first, 1);
  make("DNS:localhost");
  EXPECT_EQ(run("localhost:0", {}).first, 1);
  // Its own authority, and another one.
  EXPECT_EQ(run("localhost:0", {"--tls-ca", base + ".pem"}).first, 1);
  std::filesystem::copy_file(base + ".pem", folder_.path() + "/other.pem");
  make("DNS:localhost");
  const auto [other_code, other] = run("localhost:0", {"--tls-ca", folder_.path() + "/other.pem"});
  EXPECT_EQ(other_code, 2);
  EXPECT_THAT(other, HasSubstr(base + ".pem is not believed: "));
}

// The log goes on where an earlier start ended.
TEST_F(UpTest, WhatEndedAnEarlierStartIsNotToldOfThisOne) {
  std::filesystem::create_directories(data() + "/log");
  std::ofstream(data() + "/log/coordinator.log") << "cannot listen: Address already in use\n";
  Write("assay-coordinator", "#!/bin/bash\necho 'no such database'\nexit 1\n");
  RunningUp up(program_, Anywhere({"--no-agent"}));
  const auto [code, text] = up.Finish();
  EXPECT_EQ(code, 1);
  EXPECT_THAT(text, HasSubstr("coordinator.log:\n  no such database\n"));
}

TEST_F(UpTest, HelpSaysWhichPortsTheAgentTakes) {
  RunningUp up(program_, {"--help"});
  const auto [code, text] = up.Finish();
  EXPECT_EQ(code, 0);
  EXPECT_THAT(text, HasSubstr("gRPC address of the coordinator; the agent takes the next port"));
  EXPECT_THAT(text, HasSubstr("/metrics; the agent takes the next port"));
}

TEST_F(UpTest, ChildThatDiesEndsAll) {
  RunningUp up(program_, Anywhere());
  ASSERT_TRUE(up.Await("Stop it with Ctrl-C.")) << up.Finish().second;
  Write("crash-assay-agent", "");
  const auto [code, text] = up.Finish();
  EXPECT_EQ(code, 1);
  EXPECT_THAT(text, HasSubstr("assay: assay-agent exited with status 7; the end of " + data() +
                              "/log/agent.log:\n"));
  EXPECT_THAT(text, HasSubstr("  assay-agent gives up\n"));
  EXPECT_EQ(Read("stopped"), "assay-coordinator stopped\n");
}

TEST_F(UpTest, ChildThatCannotStartIsNamed) {
  Write("assay-coordinator", "#!/bin/bash\necho 'cannot listen: Address already in use'\nexit 4\n");
  RunningUp up(program_, Anywhere({"--no-agent"}));
  const auto [code, text] = up.Finish();
  EXPECT_EQ(code, 2);
  EXPECT_THAT(text,
              HasSubstr("assay: assay-coordinator could not start: a port is taken by another "
                        "program; give others with --listen and --http"));
  EXPECT_THAT(text, HasSubstr("exited with status 4"));
  EXPECT_THAT(text, HasSubstr("  cannot listen: Address already in use\n"));
}

TEST_F(UpTest, ChildsRefusalOfItsArgumentsIsOurs) {
  for (const int status : {1, 2}) {
    Write("assay-coordinator", "#!/bin/bash\nexit " + std::to_string(status) + "\n");
    RunningUp up(program_, Anywhere({"--no-agent"}));
    const auto [code, text] = up.Finish();
    EXPECT_EQ(code, status) << text;
  }
}

TEST_F(UpTest, MissingProgramIsNamed) {
  std::filesystem::remove(folder_.path() + "/assay-coordinator");
  RunningUp up(program_, {"--data", data()});
  const auto [code, text] = up.Finish();
  EXPECT_EQ(code, 1);
  EXPECT_THAT(text, HasSubstr(folder_.path() + "/assay-coordinator"));
}

TEST_F(UpTest, FolderThatCannotBeMade) {
  Write("file", "");
  RunningUp up(program_, {"--data", folder_.path() + "/file/data"});
  const auto [code, text] = up.Finish();
  EXPECT_EQ(code, 2);
  EXPECT_THAT(text, HasSubstr("cannot make the folder " + folder_.path() + "/file/data: "));
}

}  // namespace
}  // namespace assay::cli
