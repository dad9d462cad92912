// Tests the console's server with real HTTP and gRPC on loopback, and fake stores.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>
#include <sys/time.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "assay/v1/analysis_service.pb.h"
#include "common/text.h"
#include "coordinator/rpc/server.h"
#include "coordinator/web/bridge.h"
#include "coordinator/web/console.h"
#include "storage/fakes/fake_stores.h"
#include "tests/certificates.h"
#include "tests/http_client.h"
#include "tests/unit/campaign/fleet_records.h"
#include "tests/wording.h"
#include "wire/roles.h"

namespace assay::coordinator::web {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::IsSupersetOf;

constexpr char kToken[] = "0123456789abcdef0123456789abcdef";
const std::string kJson = "Content-Type: application/json";
const std::string kStream = "Content-Type: application/connect+json";

std::string Envelope(const std::string& text, char flags = 0) {
  const auto size = static_cast<uint32_t>(text.size());
  return std::string{flags, static_cast<char>(size >> 24), static_cast<char>(size >> 16),
                     static_cast<char>(size >> 8), static_cast<char>(size)} +
         text;
}

// Returns the messages of a whole stream. The last one is the end.
std::vector<json> OpenEnvelopes(const std::string& body) {
  std::vector<json> messages;
  for (size_t at = 0; at + 5 <= body.size();) {
    size_t size = 0;
    for (size_t i = 1; i <= 4; ++i) size = size << 8 | static_cast<unsigned char>(body[at + i]);
    messages.push_back(json::parse(body.substr(at + 5, size)));
    at += 5 + size;
  }
  return messages;
}

// Splits a header's value "a; b; c".
std::vector<std::string> PartsOf(const std::string& value) {
  std::vector<std::string> parts;
  for (std::string_view part : Split(value, ';')) {
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    parts.emplace_back(part);
  }
  return parts;
}

// An error as the console sends it. JSON without these fields is an exception.
struct ConnectError {
  explicit ConnectError(const json& sent) : code(sent.at("code")), message(sent.at("message")) {
    for (const json& detail : sent.at("details")) {
      if (detail.at("type") == "google.rpc.ErrorInfo") {
        domain = detail.at("debug").at("domain");
        reason = detail.at("debug").at("reason");
      } else if (detail.at("type") == "assay.v1.ErrorDetail") {
        hint = detail.at("debug").at("hint");
      }
    }
  }
  std::string code;
  std::string message;
  std::string domain;
  std::string reason;
  std::string hint;
};

class WebTest : public testing::Test {
 protected:
  void Serve(ConsoleOptions options = {}) {
    coordinator_->Start();
    rpc::ServerOptions server;
    server.listen = {"127.0.0.1", 0};
    server.counter = [this](const char* method, Code code) {
      MutexLock lock(mutex_);
      calls_.emplace_back(method, code);
    };
    auto started = rpc::Server::Start(*coordinator_, std::move(server));
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    options.address = {"127.0.0.1", 0};
    options.version = "1.2.3";
    options.services = server_->LocalChannel();
    auto console = Console::Start(std::move(options));
    ASSERT_TRUE(console.ok()) << console.status();
    console_ = *std::move(console);
    const std::string url = console_->url();
    address_ = {"127.0.0.1", std::stoi(url.substr(url.rfind(':') + 1))};
  }

  void TearDown() override {
    console_ = nullptr;
    if (server_) server_->Shutdown(std::chrono::seconds(2));
    executor_ = nullptr;
  }

  HttpAnswer Post(const std::string& method, const std::string& body,
                  std::vector<std::string> headers = {kJson}) const {
    return Fetch(address_, "POST /assay.v1." + method, std::move(headers), body);
  }

  Clock& clock_ = Clock::Real();
  storage::FakeDatabase database_{clock_};
  storage::FakeJobStore jobs_{database_};
  storage::FakeNodeStore nodes_{database_};
  storage::FakeResultStore results_{database_};
  storage::FakeFleetStore fleet_{database_};
  storage::FakeWorkStore work_{database_};
  storage::FakeAnalysisStore analysis_{database_};
  storage::FakeScheduleStore schedules_{database_};
  Observer observer_;
  std::unique_ptr<Executor> executor_ = NewThreadPool(2, "test");
  std::unique_ptr<Coordinator> coordinator_ =
      std::make_unique<Coordinator>(Environment{clock_, *executor_, jobs_, results_, nodes_, fleet_,
                                                work_, analysis_, schedules_, observer_},
                                    Options{"c"});
  Mutex mutex_;
  std::vector<std::pair<std::string, Code>> calls_ ASSAY_GUARDED_BY(mutex_);
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<Console> console_;
  HostPort address_;
};

TEST_F(WebTest, UnaryCalls_AnswerJsonWithDefaultsAndCountAsCalls) {
  v1::Node node = MakeFleetNode("<script>alert(1)</script>", '1', 0);
  ASSERT_TRUE(nodes_.Connect("c", node.description(), "", std::chrono::seconds(30)).ok());
  Serve();
  const HttpAnswer answer = Post("NodeService/ListNodes", "{}");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("content-type"), "application/json");
  EXPECT_EQ(answer.body.find("<script>"), answer.body.npos);
  const json got = json::parse(answer.body);
  EXPECT_EQ(got["nodes"][0]["description"]["name"], "<script>alert(1)</script>");
  EXPECT_EQ(got["nodes"][0]["dialAddress"], "");
  EXPECT_EQ(got["nextPageToken"], "");
  MutexLock lock(mutex_);
  EXPECT_THAT(calls_, Contains(std::pair<std::string, Code>("ListNodes", Code::kOk)));
}

TEST_F(WebTest, Get_TakesTheMessageFromTheQuery) {
  Serve();
  const std::string path = "GET /assay.v1.CampaignService/ListCampaigns";
  EXPECT_EQ(
      Fetch(address_, path + "?connect=v1&encoding=json&message=%7B%22pageSize%22:3%7D").status,
      200);
  EXPECT_EQ(Fetch(address_, path).status, 400);
  EXPECT_EQ(Fetch(address_, path + "?encoding=proto&message=x").status, 400);
}

TEST_F(WebTest, LargeAnswers_AreCompressedOnRequest) {
  for (char i = 'a'; i < 'z'; ++i) {
    v1::Node node = MakeFleetNode(std::string("node-") + i, i, 0);
    node.mutable_description()->set_node_id("00000000-0000-4000-8000-0000000000" +
                                            std::to_string(10 + i - 'a'));
    ASSERT_TRUE(nodes_.Connect("c", node.description(), "", std::chrono::seconds(30)).ok());
  }
  Serve();
  const HttpAnswer plain = Post("NodeService/ListNodes", "{}");
  const HttpAnswer packed =
      Post("NodeService/ListNodes", "{}", {kJson, "Accept-Encoding: br, gzip"});
  EXPECT_EQ(packed.headers.at("content-encoding"), "gzip");
  EXPECT_LT(packed.body.size() * 3, plain.body.size());
}

TEST_F(WebTest, Errors_KeepCodeReasonAndHint) {
  Serve();
  const HttpAnswer answer = Post("CampaignService/GetCampaign", R"({"campaign":"nightly"})");
  EXPECT_EQ(answer.status, 404);
  const ConnectError refusal(json::parse(answer.body));
  EXPECT_EQ(refusal.code, "not_found");
  EXPECT_EQ(refusal.domain, "assay");
  EXPECT_EQ(refusal.reason, "NOT_FOUND");
  EXPECT_WORDING("coordinator/console-unknown-campaign", refusal.message + "\n" + refusal.hint);
}

TEST_F(WebTest, BadRequests_AreRefusedWithTheirReason) {
  Serve();
  EXPECT_EQ(Post("NodeService/ListNodes", "{").status, 400);
  EXPECT_EQ(Post("NodeService/ListNodes", R"({"unknown":1})").status, 400);
  EXPECT_EQ(Post("NodeService/ListNodes", R"({"pageSize":"many"})").status, 400);
  EXPECT_EQ(Post("NodeService/ListNodes", std::string(10'000, '[')).status, 400);
  EXPECT_EQ(
      Post("NodeService/ListNodes", R"({"filter":")" + std::string(9'000, '{') + "\"}").status,
      400);
  EXPECT_EQ(Post("NodeService/ListNodes", std::string(1 << 20, ' ')).status, 413);
  EXPECT_EQ(Post("NodeService/ListNodes", "{}", {"Content-Type: text/plain"}).status, 415);
  EXPECT_EQ(Post("NodeService/ListNodes", "{}", {kStream}).status, 415);
  EXPECT_EQ(Fetch(address_, "DELETE /assay.v1.NodeService/ListNodes").status, 405);
  EXPECT_EQ(Fetch(address_, "POST /assay.v1.NodeService/NoSuchMethod", {kJson}, "{}").status, 404);
  EXPECT_EQ(Fetch(address_, "GET /nothing").status, 404);
  EXPECT_EQ(Fetch(address_, "GET /../../etc/passwd").status, 404);
}

// The console serves whatever changes nothing and viewers may call.
TEST_F(WebTest, OnlyMethodsWithoutSideEffectsAreServed) {
  Serve();
  const auto* const file = v1::ListOutliersRequest::descriptor()->file()->pool();
  int served = 0;
  for (const MethodAccess& access : AccessTable()) {
    std::string name(access.method.substr(1));
    name.replace(name.find('/'), 1, ".");
    const auto* const method = file->FindMethodByName(name);
    if (method == nullptr) continue;  // gRPC's own services.
    const bool safe =
        method->options().idempotency_level() == google::protobuf::MethodOptions::NO_SIDE_EFFECTS;
    // Services of agents are not the coordinator's.
    const bool viewer = access.least_user == Role::kViewer;
    EXPECT_TRUE(Bridge::IsMethod(access.method)) << name;
    if (method->server_streaming()) continue;
    const int status = Fetch(address_, "POST " + std::string(access.method), {kJson}, "{}").status;
    EXPECT_EQ(status != 403, safe && viewer) << name << " " << status;
    served += safe && viewer ? 1 : 0;
  }
  EXPECT_GT(served, 15);
}

TEST_F(WebTest, Streams_ArriveAsEnvelopesAndEndWithTheError) {
  Serve();
  const HttpAnswer answer = Post("CampaignService/WatchCampaign",
                                 Envelope(R"({"campaign":"no-such-campaign"})"), {kStream});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("content-type"), "application/connect+json");
  const std::vector<json> messages = OpenEnvelopes(answer.body);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(answer.body[0], 2);
  const ConnectError refusal(messages[0].at("error"));
  EXPECT_EQ(refusal.code, "not_found");
  EXPECT_EQ(Post("CampaignService/WatchCampaign", "{}", {kStream}).status, 400);
  EXPECT_EQ(Post("CampaignService/WatchCampaign", Envelope("{}", 1), {kStream}).status, 400);
}

// Viewers behind one address share its places, and take none of others.
TEST_F(WebTest, StreamsAreCountedByTheViewersAddress) {
  Serve();
  constexpr int kPlaces = 64;
  std::vector<FileDescriptor> open;
  std::string last;
  for (int i = 0; i <= kPlaces; ++i) {
    open.push_back(ConnectTo(address_));
    SendAll(open.back(),
            "POST /assay.v1.NodeService/WatchFleet HTTP/1.1\r\nHost: localhost\r\n"
            "Connection: close\r\n" +
                kStream + "\r\nContent-Length: 7\r\n\r\n" + Envelope("{}"));
    std::string text;
    char buffer[4096];
    while (text.find('}') == text.npos) {
      const ssize_t n = read(open.back().get(), buffer, sizeof buffer);
      ASSERT_GT(n, 0);
      text.append(buffer, static_cast<size_t>(n));
    }
    last = text;
  }
  // The end of a refused stream follows at once. One that is not refused would stay open.
  const timeval patience{5, 0};
  setsockopt(open.back().get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const std::vector<json> messages = OpenEnvelopes(ParseAnswer(last + ReadAll(open.back())).body);
  ASSERT_EQ(messages.size(), 1u);
  const ConnectError refusal(messages[0].at("error"));
  EXPECT_EQ(refusal.code, "resource_exhausted");
  EXPECT_EQ(refusal.reason, "OVERLOADED");
  EXPECT_WORDING("coordinator/console-many-streams", refusal.message + "\n" + refusal.hint);
}

TEST_F(WebTest, ForeignHostsAndSites_AreRefused) {
  ConsoleOptions options;
  options.hosts = {"assay.example"};
  Serve(std::move(options));
  const auto status = [&](const std::string& request, std::vector<std::string> headers) {
    return Fetch(address_, request, std::move(headers)).status;
  };
  EXPECT_EQ(status("GET /info", {"Host: evil.example"}), 421);
  EXPECT_EQ(status("GET /info", {"Host: localhost.evil.example:7980"}), 421);
  EXPECT_EQ(status("GET /info", {"Host: "}), 421);
  for (const char* host : {"localhost:7980", "127.0.0.1", "[::1]:7980", "Assay.Example:443"}) {
    EXPECT_EQ(status("GET /info", {std::string("Host: ") + host}), 200) << host;
  }
  EXPECT_EQ(status("GET /info", {"Sec-Fetch-Site: cross-site"}), 403);
  EXPECT_EQ(status("GET /info", {"Sec-Fetch-Site: same-site"}), 403);
  EXPECT_EQ(status("GET /info", {"Sec-Fetch-Site: same-origin"}), 200);
  EXPECT_EQ(status("GET /", {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}), 200);
  EXPECT_EQ(status("GET /", {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}), 403);
  EXPECT_EQ(Post("NodeService/ListNodes", "{}", {kJson, "Sec-Fetch-Site: cross-site"}).status, 403);
}

TEST_F(WebTest, EveryAnswer_ProtectsTheBrowser) {
  Serve();
  for (const HttpAnswer& answer :
       {Fetch(address_, "GET /"), Fetch(address_, "GET /nothing"),
        Post("NodeService/ListNodes", "{}"),
        Post("CampaignService/WatchCampaign", Envelope(R"({"campaign":"x"})"), {kStream})}) {
    EXPECT_THAT(PartsOf(answer.headers.at("content-security-policy")),
                IsSupersetOf({"default-src 'none'", "frame-ancestors 'none'"}));
    EXPECT_EQ(answer.headers.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(answer.headers.at("cross-origin-resource-policy"), "same-origin");
    EXPECT_EQ(answer.headers.count("access-control-allow-origin"), 0u);
  }
}

TEST_F(WebTest, Pages_AreCompressedAndRevalidated) {
  Serve();
  const HttpAnswer page = Fetch(address_, "GET /");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.headers.at("content-encoding"), "gzip");
  EXPECT_EQ(page.headers.at("cache-control"), "no-cache");
  EXPECT_EQ(Fetch(address_, "GET /", {"If-None-Match: " + page.headers.at("etag")}).status, 304);
  EXPECT_EQ(json::parse(Fetch(address_, "GET /info").body)["version"], "1.2.3");
}

TEST_F(WebTest, Token_IsExchangedForACookie) {
  ConsoleOptions options;
  options.token = kToken;
  Serve(std::move(options));
  const auto list = [&](const std::string& header) {
    return Post("NodeService/ListNodes", "{}", {kJson, header}).status;
  };
  EXPECT_EQ(list("X-None: 1"), 401);
  EXPECT_EQ(list("Authorization: Bearer " + std::string(kToken)), 200);
  EXPECT_EQ(list("Authorization: Bearer 0123456789abcdef0123456789abcdeX"), 401);
  EXPECT_EQ(Fetch(address_, "GET /").status, 200);  // The page asks for the token.
  EXPECT_EQ(Fetch(address_, "POST /login", {kJson}, R"({"token":"wrong"})").status, 401);
  EXPECT_EQ(Fetch(address_, "POST /login", {kJson}, R"({"token":null})").status, 401);
  EXPECT_EQ(Fetch(address_, "POST /login", {kJson}, "[").status, 401);
  const HttpAnswer login = Fetch(address_, "POST /login", {kJson}, json{{"token", kToken}}.dump());
  EXPECT_EQ(login.status, 204);
  const std::string cookie = login.headers.at("set-cookie");
  EXPECT_THAT(PartsOf(cookie), IsSupersetOf({"HttpOnly", "SameSite=Strict"}));
  EXPECT_EQ(cookie.find(kToken), cookie.npos);
  const std::string value = cookie.substr(0, cookie.find(';'));
  EXPECT_EQ(list("Cookie: theme=dark; " + value), 200);
  EXPECT_EQ(list("Cookie: " + value + "0"), 401);
}

TEST(ConsoleOptionsTest, BeyondLoopback_NeedsTlsAndAToken) {
  ConsoleOptions options;
  options.address = {"0.0.0.0", 7980};
  EXPECT_EQ(CheckConsole(options).code(), Code::kInvalidArgument);
  options.tls_certificate = "cert.pem";
  EXPECT_FALSE(CheckConsole(options).ok());
  options.tls_key = "key.pem";
  EXPECT_FALSE(CheckConsole(options).ok());
  options.token = "short";
  EXPECT_FALSE(CheckConsole(options).ok());
  options.token = kToken;
  EXPECT_TRUE(CheckConsole(options).ok());
  options.tls_key = "";
  EXPECT_FALSE(CheckConsole(options).ok());
}

}  // namespace
}  // namespace assay::coordinator::web
