#include "http/metrics_server.h"

#include <gtest/gtest.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/http_client.h"

namespace assay::http {
namespace {

HttpAnswer Get(const HostPort& address, const std::string& path) {
  return Fetch(address, "GET " + path);
}

MetricsServerOptions OnFreePort() {
  MetricsServerOptions options;
  options.address = {"127.0.0.1", 0};
  return options;
}

TEST(MetricsServerTest, ServesMetricsOfEveryCollectable) {
  auto registry = std::make_shared<prometheus::Registry>();
  prometheus::BuildGauge()
      .Name("assay_test_value")
      .Help("A value.")
      .Register(*registry)
      .Add({})
      .Set(42);
  MetricsServerOptions options = OnFreePort();
  options.collectables.push_back(registry);
  const auto server = MetricsServer::Start(std::move(options));
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_GT((*server)->address().port, 0);
  const HttpAnswer answer = Get((*server)->address(), "/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(
      answer.body,
      "# HELP assay_test_value A value.\n# TYPE assay_test_value gauge\nassay_test_value 42\n");
}

TEST(MetricsServerTest, HealthFollowsTheService) {
  MetricsServerOptions options = OnFreePort();
  bool healthy = true;
  options.health = [&] { return healthy ? Status::Ok() : Unavailable("no database"); };
  const auto server = MetricsServer::Start(std::move(options));
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(Get((*server)->address(), "/healthz").status, 200);
  healthy = false;
  const HttpAnswer answer = Get((*server)->address(), "/healthz");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, Unavailable("no database").ToString() + "\n");
}

TEST(MetricsServerTest, AnswersHandlersAndRefusesTheRest) {
  MetricsServerOptions options = OnFreePort();
  options.handlers.push_back({"/sd", [](const std::shared_ptr<Exchange>& exchange) {
                                RespondWith(*exchange, "application/json", "[]");
                              }});
  options.handlers.push_back({"/broken", [](const std::shared_ptr<Exchange>& /*exchange*/) {
                                throw std::runtime_error("oops");
                              }});
  const auto server = MetricsServer::Start(std::move(options));
  ASSERT_TRUE(server.ok()) << server.status();
  const HostPort& address = (*server)->address();
  EXPECT_EQ(Get(address, "/sd").headers.at("content-type"), "application/json");
  EXPECT_EQ(Get(address, "/broken").status, 500);
  EXPECT_EQ(Get(address, "/etc/passwd").status, 404);
  EXPECT_NE(Get(address, "/../etc/passwd").status, 200);
  EXPECT_EQ(Fetch(address, "POST /sd", {"Content-Length: 0"}).status, 405);
}

TEST(MetricsServerTest, PartsAreOneAnswer) {
  MetricsServerOptions options = OnFreePort();
  const auto parts_of = [](int count) {
    return [left = std::make_shared<int>(count)]() -> std::string {
      return --*left < 0 ? "" : std::string(100'000, static_cast<char>('a' + *left));
    };
  };
  std::thread later;
  options.handlers.push_back({"/parts", [&](const std::shared_ptr<Exchange>& exchange) {
                                later = std::thread([exchange, parts_of] {
                                  RespondInParts(exchange, "text/plain", parts_of(3));
                                });
                              }});
  options.handlers.push_back({"/none", [&](const std::shared_ptr<Exchange>& exchange) {
                                RespondInParts(exchange, "text/plain", parts_of(0));
                              }});
  options.handlers.push_back({"/broken", [](const std::shared_ptr<Exchange>& exchange) {
                                RespondInParts(exchange, "text/plain", []() -> std::string {
                                  throw std::runtime_error("oops");
                                });
                              }});
  const auto server = MetricsServer::Start(std::move(options));
  ASSERT_TRUE(server.ok()) << server.status();
  const HttpAnswer answer = Get((*server)->address(), "/parts");
  later.join();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body,
            std::string(100'000, 'c') + std::string(100'000, 'b') + std::string(100'000, 'a'));
  EXPECT_EQ(Get((*server)->address(), "/none").body, "");
  Get((*server)->address(), "/broken");  // Ends.
}

TEST(MetricsServerTest, TakenPort_IsAnError) {
  const auto first = MetricsServer::Start(OnFreePort());
  ASSERT_TRUE(first.ok()) << first.status();
  MetricsServerOptions options;
  options.address = (*first)->address();
  const Status second = MetricsServer::Start(std::move(options)).status();
  EXPECT_EQ(second.reason(), Reason::kAddressInUse);
  EXPECT_NE(second.message().find((*first)->address().ToString()), std::string::npos);
}

TEST(MetricsServerTest, UnknownName_IsAnError) {
  MetricsServerOptions options;
  options.address = {"metrics.invalid", 9900};
  EXPECT_EQ(MetricsServer::Start(options).status().reason(), Reason::kAddressInUse);
}

// A hundred peers that send their heads slowly do not keep another waiting; each is closed after
// its deadline, which its bytes do not extend.
TEST(MetricsServerTest, SlowPeers_DoNotDelayOthers) {
  const auto server = MetricsServer::Start(OnFreePort());
  ASSERT_TRUE(server.ok()) << server.status();
  std::vector<FileDescriptor> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(ConnectTo((*server)->address()));
    SendAll(slow.back(), "GET /metrics HTTP/1.1\r\nX: ");
  }
  EXPECT_EQ(Get((*server)->address(), "/healthz").status, 200);
  char byte = 0;
  for (const FileDescriptor& one : slow) {
    send(one.get(), "x", 1, MSG_NOSIGNAL);
    EXPECT_LE(recv(one.get(), &byte, 1, 0), 0);  // Blocks until the server closes.
  }
}

}  // namespace
}  // namespace assay::http
