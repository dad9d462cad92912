#include "http/metrics_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "common/subprocess.h"

namespace assay::http {
namespace {

struct Answer {
  int status = 0;
  std::string content_type;
  std::string body;
};

// Sends `request` and parses the answer, which ends when the server closes.
Answer Exchange(const HostPort& address, const std::string& request) {
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
  const std::string type = "\r\nContent-Type: ";
  const size_t begin = answer.find(type) + type.size();
  Answer parsed;
  parsed.status = std::stoi("0" + answer.substr(std::min<size_t>(answer.size(), 9), 3));
  parsed.content_type = answer.substr(begin, answer.find("\r\n", begin) - begin);
  parsed.body = answer.substr(answer.find("\r\n\r\n") + 4);
  return parsed;
}

Answer Get(const HostPort& address, const std::string& path) {
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
  const Answer answer = Get((*server)->address(), "/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content_type, "text/plain; version=0.0.4; charset=utf-8");
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
  const Answer answer = Get((*server)->address(), "/healthz");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, Unavailable("no database").ToString() + "\n");
}

TEST(MetricsServerTest, AnswersHandlersAndRefusesTheRest) {
  MetricsServerOptions options = OnFreePort();
  options.handlers.push_back({"/sd", "application/json", [] { return std::string("[]"); }});
  options.handlers.push_back(
      {"/broken", "text/plain", []() -> std::string { throw std::runtime_error("oops"); }});
  const auto server = MetricsServer::Start(std::move(options));
  ASSERT_TRUE(server.ok()) << server.status();
  const HostPort& address = (*server)->address();
  EXPECT_EQ(Get(address, "/sd").content_type, "application/json");
  EXPECT_EQ(Get(address, "/broken").status, 500);
  EXPECT_EQ(Get(address, "/etc/passwd").status, 404);
  EXPECT_NE(Get(address, "/../etc/passwd").status, 200);
  EXPECT_EQ(
      Exchange(address, "POST /sd HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n").status,
      405);
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
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(static_cast<uint16_t>((*server)->address().port));
  inet_pton(AF_INET, "127.0.0.1", &peer.sin_addr);
  std::vector<FileDescriptor> slow;
  for (int i = 0; i < 100; ++i) {
    slow.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(slow.back().get(), reinterpret_cast<sockaddr*>(&peer), sizeof peer), 0);
    ASSERT_GT(send(slow.back().get(), "GET /metrics HTTP/1.1\r\nX: ", 26, MSG_NOSIGNAL), 0);
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
