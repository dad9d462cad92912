// The join listener over real TLS sockets.
#include "coordinator/web/join_server.h"

#include <gmock/gmock.h>
#include <openssl/ssl.h>

#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "common/digest.h"
#include "common/executor.h"
#include "common/file.h"
#include "coordinator/web/refusal_limit.h"
#include "storage/fakes/fake_stores.h"
#include "tests/http_client.h"
#include "tests/temporary_folder.h"
#include "tests/unit/identity/records.h"
#include "tests/virtual_clock.h"

namespace assay::coordinator::web {
namespace {

using nlohmann::json;
using SslContext = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using Ssl = std::unique_ptr<SSL, decltype(&SSL_free)>;

// Returns a request whose body has this length, or claims to have it.
std::string PostOf(const std::string& path, const std::string& body,
                   std::optional<size_t> length = {}) {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
         std::to_string(length.value_or(body.size())) + "\r\n\r\n" + body;
}

std::string GetOf(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

// Returns the value that a script gives to a variable: name='value' on lines of its own.
std::optional<std::string> VariableOf(const std::string& script, const std::string& name) {
  const std::string start = "\n" + name + "='";
  const size_t at = script.find(start);
  if (at == script.npos) return std::nullopt;
  const size_t from = at + start.size();
  const size_t end = script.find('\'', from);
  if (end == script.npos) return std::nullopt;
  // Nothing but a comment may follow.
  const std::string rest = script.substr(end + 1, script.find('\n', end) - end - 1);
  if (!rest.empty() && rest.rfind(" #", 0) != 0) return std::nullopt;
  return script.substr(from, end - from);
}

class JoinServerTest : public ::testing::Test {
 protected:
  JoinServerTest() {
    authority = *identity::Authority::Open(folder.path() + "/ca", "lab", clock.WallNow());
    enrolment = std::make_unique<Enrolment>(*authority, clock, store, *bans,
                                            std::vector<std::string>{"10.0.0.1:7900"});
  }
  // Stops the refreshes of the list before the store is destroyed.
  ~JoinServerTest() override { executor = nullptr; }

  void Serve(JoinServerOptions options = {}) {
    const auto own = authority->IssueServer("one", {"localhost"}, clock.WallNow());
    ASSERT_TRUE(own.ok()) << own.status();
    options.address = {"127.0.0.1", 0};
    options.certificate = *ReadFile(own->certificate_file);
    options.key = *ReadFile(own->key_file);
    options.pin = *authority->ServerPin();
    options.authority = authority->pem();
    options.version = "9.9.9";
    auto started = JoinServer::Start(options, *enrolment, clock);
    ASSERT_TRUE(started.ok()) << started.status();
    server = *std::move(started);
    const std::string& url = server->address().url;
    port = std::stoi(url.substr(url.rfind(':') + 1));
  }

  // Sends bytes over TLS and returns all bytes of the response.
  std::string Send(const std::string& bytes) const {
    const FileDescriptor socket_fd = ConnectTo({"127.0.0.1", port});
    const SslContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    const Ssl ssl(SSL_new(context.get()), SSL_free);
    SSL_set_fd(ssl.get(), socket_fd.get());
    if (SSL_connect(ssl.get()) != 1) return "";
    SSL_write(ssl.get(), bytes.data(), static_cast<int>(bytes.size()));
    std::string received;
    char buffer[16384];
    for (int n; (n = SSL_read(ssl.get(), buffer, sizeof buffer)) > 0;) {
      received.append(buffer, static_cast<size_t>(n));
    }
    return received;
  }
  HttpAnswer Ask(const std::string& bytes) const { return ParseAnswer(Send(bytes)); }

  void ExpectError(const std::string& request, int status, const std::string& code,
                   const std::string& reason) const {
    const HttpAnswer answer = Ask(request);
    EXPECT_EQ(answer.status, status) << answer.body;
    const json refusal = json::parse(answer.body, nullptr, false);
    ASSERT_TRUE(refusal.is_object()) << answer.body;
    EXPECT_EQ(refusal["code"], code);
    EXPECT_EQ(refusal["reason"], reason);
    EXPECT_TRUE(refusal["message"].is_string());
    EXPECT_TRUE(refusal["hint"].is_string());
    EXPECT_TRUE(refusal["violations"].is_array());
  }

  std::string Invite() {
    v1::CreateInviteRequest request;
    request.mutable_scope()->set_role("node");
    return enrolment->CreateInvite(request, kLocalAdmin)->token();
  }
  static std::string EnrolBody(const std::string& token) {
    const identity::Key key = std::move(identity::NewKey().value());
    return json({{"token", token},
                 {"certificate_request", identity::RequestPem(key.get())},
                 {"hostName", "g1"},
                 {"fieldOfTomorrow", 1}})
        .dump();
  }

  TemporaryFolder folder;
  Clock& clock = Clock::Real();
  storage::FakeDatabase database{clock};
  storage::FakeIdentityStore store{database};
  std::unique_ptr<Executor> executor = NewThreadPool(1, "test");
  std::shared_ptr<BanList> bans = std::make_shared<BanList>(clock, *executor, store);
  std::unique_ptr<identity::Authority> authority;
  std::unique_ptr<Enrolment> enrolment;
  std::unique_ptr<JoinServer> server;
  int port = 0;
};

TEST_F(JoinServerTest, KeyWithATokenIsEnrolled) {
  Serve();
  const HttpAnswer answer = Ask(PostOf("/enrol", EnrolBody(Invite())));
  EXPECT_EQ(answer.status, 200) << answer.body;
  const json enrolled = json::parse(answer.body);
  EXPECT_EQ(enrolled["name"], "g1");
  EXPECT_EQ(enrolled["fleet"], "lab");
  EXPECT_EQ(enrolled["authority"], authority->pem());
  EXPECT_EQ(enrolled["coordinators"], json({"10.0.0.1:7900"}));
  EXPECT_EQ(store.ListIdentities("node", "", 10)->size(), 1U);
}

TEST_F(JoinServerTest, RefusalsSayWhy) {
  Serve();
  const std::string used = Invite();
  EXPECT_EQ(Ask(PostOf("/enrol", EnrolBody(used))).status, 200);
  ExpectError(PostOf("/enrol", EnrolBody(used)), 403, "PERMISSION_DENIED", "INVITE_USED");
  ExpectError(PostOf("/enrol", EnrolBody("assay1.short")), 400, "INVALID_ARGUMENT",
              "BAD_INVITE_TOKEN");
  ExpectError(PostOf("/enrol", EnrolBody("")), 401, "UNAUTHENTICATED", "NO_IDENTITY");
  ExpectError(PostOf("/enrol", "{}"), 400, "INVALID_ARGUMENT", "BAD_CERTIFICATE");
}

TEST_F(JoinServerTest, BadRequestsAreAnswered) {
  Serve();
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("\xff\x00\x01", 3), std::string(30'000, '['),
        std::string(R"({"token":[1]})"), std::string(R"({"time":"yesterday"})")}) {
    ExpectError(PostOf("/enrol", body), 400, "INVALID_ARGUMENT", "INVALID_ARGUMENT");
  }
  ExpectError(GetOf("/"), 404, "NOT_FOUND", "NOT_FOUND");
  ExpectError(GetOf("/enrol/"), 404, "NOT_FOUND", "NOT_FOUND");
  ExpectError(GetOf("/enrol"), 405, "INVALID_ARGUMENT", "INVALID_ARGUMENT");
  ExpectError(PostOf("/join", ""), 405, "INVALID_ARGUMENT", "INVALID_ARGUMENT");
  EXPECT_EQ(Ask(GetOf("/enrol")).headers.at("allow"), "POST");
  EXPECT_EQ(Ask(PostOf("/enrol", std::string(40'000, 'x'))).status, 413);
}

TEST_F(JoinServerTest, SlowAndSilentPeersAreDisconnected) {
  JoinServerOptions options;
  options.request_patience = std::chrono::milliseconds(300);
  Serve(options);
  // No handshake, half a head, and a body that does not come.
  EXPECT_EQ(ReadAll(ConnectTo({"127.0.0.1", port})), "");
  EXPECT_EQ(Send("GET /join HTT"), "");
  EXPECT_EQ(Send(PostOf("/enrol", "{", 1000)), "");
  EXPECT_EQ(Ask(GetOf("/join")).status, 200);
}

TEST_F(JoinServerTest, PlaintextIsNotAnswered) {
  Serve();
  const FileDescriptor socket_fd = ConnectTo({"127.0.0.1", port});
  SendAll(socket_fd, GetOf("/join"));
  const std::string received = ReadAll(socket_fd);
  // At most a TLS alert, which is a record of type 21 and seven bytes.
  EXPECT_TRUE(received.empty() || (received.size() == 7 && received[0] == 21)) << received;
  EXPECT_EQ(Ask(GetOf("/join")).status, 200);
}

TEST_F(JoinServerTest, ArchiveArrivesWholeAtSeveralClients) {
  std::string bytes;
  while (bytes.size() < 3'000'000) bytes += Sha256Hex(bytes.substr(bytes.size() / 2, 100));
  JoinServerOptions options;
  options.archive = folder.path() + "/node.deb";
  std::ofstream(options.archive) << bytes;
  Serve(options);
  // A file that replaces it does not match the script.
  std::ofstream(folder.path() + "/new.deb") << "other";
  ASSERT_EQ(rename((folder.path() + "/new.deb").c_str(), options.archive.c_str()), 0);
  std::vector<std::future<HttpAnswer>> answers;
  for (int i = 0; i < 8; ++i) {
    answers.push_back(
        std::async(std::launch::async, [this] { return Ask(GetOf("/assay-node.deb")); }));
  }
  for (auto& answer : answers) {
    const HttpAnswer got = answer.get();
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(Sha256Hex(got.body), Sha256Hex(bytes));
  }
  EXPECT_EQ(VariableOf(Ask(GetOf("/join")).body, "sum"), Sha256Hex(bytes));
}

TEST_F(JoinServerTest, ScriptNamesTheListener) {
  JoinServerOptions options;
  options.advertise = HostPort{"fleet.example", 0};
  Serve(options);
  const std::string url = "https://fleet.example:" + std::to_string(port);
  EXPECT_EQ(server->address().url, url);
  const std::string script = Ask(GetOf("/join")).body;
  EXPECT_EQ(VariableOf(script, "url"), url);
  EXPECT_EQ(VariableOf(script, "pin"), *authority->ServerPin());
  EXPECT_EQ(VariableOf(script, "version"), "9.9.9");
  EXPECT_EQ(VariableOf(script, "sum"), "");
  // The script appends the last line break itself.
  EXPECT_EQ(VariableOf(script, "authority").value_or("") + "\n", authority->pem());
  EXPECT_EQ(Ask(GetOf("/assay-node.deb")).status, 404);
}

TEST_F(JoinServerTest, MissingArchive_IsAnErrorAtTheStart) {
  JoinServerOptions options;
  options.archive = folder.path() + "/missing.deb";
  EXPECT_EQ(JoinServer::Start(options, *enrolment, clock).status().code(), Code::kInvalidArgument);
}

TEST(RefusalLimit, ReturnsWithTime) {
  VirtualClock clock;
  RefusalLimit limit(clock);
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(limit.Allows("10.0.0.1")) << i;
    limit.NoteRefusal("10.0.0.1");
  }
  EXPECT_FALSE(limit.Allows("10.0.0.1"));
  EXPECT_TRUE(limit.Allows("10.0.0.2"));
  clock.Advance(std::chrono::milliseconds(150));
  EXPECT_TRUE(limit.Allows("10.0.0.1"));
  limit.NoteRefusal("10.0.0.1");
  EXPECT_FALSE(limit.Allows("10.0.0.1"));
}

TEST(RefusalLimit, NetworkOfIpv6CountsAsOneAddress) {
  VirtualClock clock;
  RefusalLimit limit(clock);
  for (int i = 0; i < 200; ++i) limit.NoteRefusal("2001:db8::" + std::to_string(i));
  EXPECT_FALSE(limit.Allows("2001:db8::ffff"));
  EXPECT_TRUE(limit.Allows("2001:db8:0:1::1"));
}

}  // namespace
}  // namespace assay::coordinator::web
