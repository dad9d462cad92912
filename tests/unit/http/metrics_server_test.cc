#include "http/metrics_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace assay::http {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The whole answer to `request`, until the server closes.
std::string Exchange(const HostPort& address, const std::string& request) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(static_cast<uint16_t>(address.port));
  inet_pton(AF_INET, address.host.c_str(), &peer.sin_addr);
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&peer), sizeof peer) == 0 &&
      write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size())) {
    char buffer[4096];
    for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) {
      answer.append(buffer, static_cast<size_t>(n));
    }
  }
  close(fd);
  return answer;
}

std::string Get(const HostPort& address, const std::string& path) {
  return Exchange(address, "GET " + path + " HTTP/1.1\r\nHost: test\r\n\r\n");
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
  const std::string answer = Get((*server)->address(), "/metrics");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("version=0.0.4"));
  EXPECT_THAT(answer, HasSubstr("assay_test_value 42\n"));
}

TEST(MetricsServerTest, HealthFollowsTheService) {
  MetricsServerOptions options = OnFreePort();
  bool healthy = true;
  options.health = [&] { return healthy ? Status::Ok() : Unavailable("no database"); };
  const auto server = MetricsServer::Start(std::move(options));
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT(Get((*server)->address(), "/healthz"), StartsWith("HTTP/1.1 200"));
  healthy = false;
  const std::string answer = Get((*server)->address(), "/healthz");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(answer, HasSubstr("no database"));
}

TEST(MetricsServerTest, AnswersHandlersAndRefusesTheRest) {
  MetricsServerOptions options = OnFreePort();
  options.handlers.push_back({"/sd", "application/json", [] { return std::string("[]"); }});
  options.handlers.push_back(
      {"/broken", "text/plain", []() -> std::string { throw std::runtime_error("oops"); }});
  const auto server = MetricsServer::Start(std::move(options));
  ASSERT_TRUE(server.ok()) << server.status();
  const HostPort& address = (*server)->address();
  EXPECT_THAT(Get(address, "/sd"), HasSubstr("application/json"));
  EXPECT_THAT(Get(address, "/broken"), StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(Get(address, "/etc/passwd"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Get(address, "/../etc/passwd"), testing::Not(HasSubstr("root:")));
  EXPECT_THAT(Exchange(address, "POST /sd HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n"),
              StartsWith("HTTP/1.1 405"));
}

TEST(MetricsServerTest, TakenPortIsAClearError) {
  const auto first = MetricsServer::Start(OnFreePort());
  ASSERT_TRUE(first.ok()) << first.status();
  MetricsServerOptions options;
  options.address = (*first)->address();
  const auto second = MetricsServer::Start(std::move(options));
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().message(), HasSubstr((*first)->address().ToString()));
  EXPECT_THAT(second.status().message(), HasSubstr("in use"));
}

TEST(MetricsServerTest, AnAddressThatCivetwebDoesNotTakeIsAClearError) {
  MetricsServerOptions options;
  options.address = {"metrics.example", 9900};
  const auto named = MetricsServer::Start(options);
  EXPECT_EQ(named.status().ToString(),
            "INVALID_ARGUMENT: cannot serve HTTP on metrics.example:9900: metrics.example is no IP "
            "address (HTTP_ADDRESS_UNUSABLE)\n  hint: give an address of IPv4: 127.0.0.1 for this "
            "machine alone, 0.0.0.0 for all");
  options.address = {"::1", 0};
  const auto six = MetricsServer::Start(options);
  if (six.ok()) return;  // This civetweb is built with IPv6.
  EXPECT_THAT(six.status().message(),
              HasSubstr("on [::1]:0: this system's civetweb is built without IPv6"));
}

}  // namespace
}  // namespace assay::http
