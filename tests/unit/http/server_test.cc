#include "http/server.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "common/mutex.h"
#include "tests/http_client.h"

namespace assay::http {
namespace {

// Hands requests to the test, which answers them.
class ServerTest : public testing::Test {
 protected:
  void Serve(ServerOptions options = {}) {
    options.address = {"127.0.0.1", 0};
    options.handler = [this](std::shared_ptr<Exchange> exchange) {
      MutexLock lock(mutex_);
      arrived_.push_back(std::move(exchange));
      changed_.NotifyAll();
    };
    auto server = Server::Start(std::move(options));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // Waits for the next request.
  std::shared_ptr<Exchange> Next() {
    MutexLock lock(mutex_);
    while (arrived_.empty()) changed_.Wait(mutex_);
    std::shared_ptr<Exchange> exchange = std::move(arrived_.front());
    arrived_.erase(arrived_.begin());
    return exchange;
  }

  std::future<HttpAnswer> FetchLater(const std::string& request_line,
                                     const std::string& body = "") {
    return std::async(std::launch::async, [=, address = server_->address()] {
      return Fetch(address, request_line, {}, body);
    });
  }

  Mutex mutex_;
  CondVar changed_;
  std::vector<std::shared_ptr<Exchange>> arrived_ ASSAY_GUARDED_BY(mutex_);
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, RequestsAndResponsesAreWhole) {
  ServerOptions options;
  options.body_bytes = 100;
  Serve(std::move(options));
  auto answer = FetchLater("POST /a%20b?x=1%262&y", "the body");
  const auto exchange = Next();
  EXPECT_EQ(exchange->request().method, "POST");
  EXPECT_EQ(exchange->request().path, "/a b");
  ASSERT_EQ(exchange->request().query.size(), 2u);
  EXPECT_EQ(exchange->request().query[0].second, "1&2");
  EXPECT_EQ(exchange->request().headers.at("host"), "localhost");
  EXPECT_EQ(exchange->request().body, "the body");
  EXPECT_EQ(exchange->request().peer, "127.0.0.1");
  // The answer comes from another thread, after the handler has returned.
  exchange->Respond({418, {{"X-Test", "yes"}}, "short and stout"});
  const HttpAnswer got = answer.get();
  EXPECT_EQ(got.status, 418);
  EXPECT_EQ(got.headers.at("x-test"), "yes");
  EXPECT_EQ(got.body, "short and stout");
}

TEST_F(ServerTest, ManyOpenRequests_DoNotDelayOthers) {
  Serve();
  std::vector<std::future<HttpAnswer>> waiting;
  std::vector<std::shared_ptr<Exchange>> open;
  for (int i = 0; i < 50; ++i) {
    waiting.push_back(FetchLater("GET /slow"));
    open.push_back(Next());
  }
  auto quick = FetchLater("GET /quick");
  Next()->Respond(PlainText(200, "quick"));
  EXPECT_EQ(quick.get().body, "quick");
  for (const auto& exchange : open) exchange->Respond(PlainText(200, "slow"));
  for (auto& answer : waiting) EXPECT_EQ(answer.get().body, "slow");
}

TEST_F(ServerTest, PartsArriveInOrder_AndDrainOneByOne) {
  Serve();
  auto answer = FetchLater("GET /parts");
  const auto exchange = Next();
  exchange->Begin({200, {{"Content-Type", "x/y"}}, "0"});
  for (int i = 1; i <= 3; ++i) {
    std::promise<void> drained;
    exchange->Write("-" + std::to_string(i));
    exchange->OnDrained([&] { drained.set_value(); });
    drained.get_future().wait();
  }
  exchange->Write("");
  exchange->End();
  const HttpAnswer got = answer.get();
  EXPECT_EQ(got.headers.at("content-type"), "x/y");
  EXPECT_EQ(got.body, "0-1-2-3");
}

TEST_F(ServerTest, LargeBody_Is413AndReachesNoHandler) {
  ServerOptions options;
  options.body_bytes = 1000;
  Serve(std::move(options));
  EXPECT_EQ(Fetch(server_->address(), "POST /", {}, std::string(1001, 'x')).status, 413);
  auto next = FetchLater("POST /", std::string(1000, 'x'));
  const auto exchange = Next();
  EXPECT_EQ(exchange->request().body.size(), 1000u);
  exchange->Respond(PlainText(200, ""));
  EXPECT_EQ(next.get().status, 200);
}

TEST_F(ServerTest, ClosedConnection_IsNoticedAtTheNextWrite) {
  Serve();
  FileDescriptor client = ConnectTo(server_->address());
  SendAll(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto exchange = Next();
  std::promise<void> gone;
  exchange->OnGone([&] { gone.set_value(); });
  exchange->Begin({200, {}, "begin"});
  // Closing with unread data resets the connection.
  client = FileDescriptor();
  auto noticed = gone.get_future();
  while (noticed.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    exchange->Write(std::string(1 << 16, 'x'));
  }
  exchange->Write("too late");
  exchange->End();
}

TEST_F(ServerTest, ClosedStream_IsNoticedWithoutAWrite) {
  Serve();
  FileDescriptor client = ConnectTo(server_->address());
  SendAll(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto exchange = Next();
  std::promise<void> gone;
  exchange->OnGone([&] { gone.set_value(); });
  std::promise<void> drained;
  exchange->Begin({200, {}, "begin"});
  exchange->OnDrained([&] { drained.set_value(); });
  drained.get_future().wait();
  client = FileDescriptor();
  gone.get_future().wait();
}

TEST_F(ServerTest, ClosedConnection_MayEndTheLastReferenceToItsExchange) {
  Serve();
  FileDescriptor client = ConnectTo(server_->address());
  SendAll(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  std::promise<void> gone;
  {
    const auto exchange = Next();
    exchange->OnGone([&] { gone.set_value(); });
    // More than the sockets buffer, so that it is never drained.
    exchange->Begin({200, {}, std::string(64 << 20, 'x')});
    exchange->OnDrained([exchange] { exchange->End(); });
  }
  client = FileDescriptor();
  gone.get_future().wait();
  auto next = FetchLater("GET /next");
  Next()->Respond(PlainText(200, "next"));
  EXPECT_EQ(next.get().body, "next");
}

TEST_F(ServerTest, ReaderThatStops_IsDisconnected) {
  ServerOptions options;
  options.response_patience = std::chrono::milliseconds(50);
  Serve(std::move(options));
  const FileDescriptor client = ConnectTo(server_->address());
  SendAll(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto exchange = Next();
  std::promise<void> gone;
  exchange->OnGone([&] { gone.set_value(); });
  // More than the sockets buffer.
  exchange->Begin({200, {}, std::string(64 << 20, 'x')});
  gone.get_future().wait();
}

TEST_F(ServerTest, DroppedExchange_ClosesTheConnection) {
  Serve();
  auto answer = FetchLater("GET /");
  Next();  // Dropped.
  EXPECT_EQ(answer.get().status, 0);
}

TEST_F(ServerTest, Stop_EndsOpenExchanges) {
  Serve();
  auto waiting = FetchLater("GET /waiting");
  const auto first = Next();
  auto streaming = FetchLater("GET /streaming");
  const auto second = Next();
  int gone = 0;
  Mutex mutex;
  for (const auto& exchange : {first, second}) {
    exchange->OnGone([&] {
      MutexLock lock(mutex);
      ++gone;
    });
  }
  second->Begin({200, {}, "begin"});
  server_ = nullptr;
  EXPECT_EQ(waiting.get().status, 0);
  streaming.get();
  EXPECT_EQ(gone, 2);
  first->Respond(PlainText(200, "too late"));
  second->Write("too late");
  second->End();
}

}  // namespace
}  // namespace assay::http
