// Strangers at a gang's control connections are kept out.
#include "gang/tls.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <deque>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "gang/greeting.h"
#include "gang/peers.h"
#include "tests/unit/gang/gang.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

MonotonicTime Soon() { return Clock::Real().Now() + 10s; }

// A gang's rank 0 that waits for rank 1.
class ControlPort : public testing::Test {
 protected:
  static constexpr Caller kRank1 = {1, Purpose::kMessages};

  ControlPort() { watch_.tls = tls_->get(); }

  // Expects that rank 1 is welcome, whoever came before.
  void ExpectRank1AfterAll() {
    std::map<Caller, Socket> arrived;
    auto rank1 = std::async(std::launch::async, [&] {
      return ConnectAndGreet(point_, kRank1, Soon(), nullptr, tls_->get());
    });
    EXPECT_TRUE(AcceptCallers(*listener_, "", {kRank1}, watch_, Soon(), &arrived).ok());
    EXPECT_TRUE(rank1.get().ok());
    EXPECT_EQ(arrived.count(kRank1), 1u);
  }

  Socket Connect() {
    auto socket = ConnectTo(point_.host, point_.port, Soon());
    EXPECT_TRUE(socket.ok()) << socket.status();
    return *std::move(socket);
  }

  MeetingPoint point_{"127.0.0.1", 0, "", *NewKey()};
  Result<std::unique_ptr<GangTls>> tls_ = GangTls::Create(point_.key);
  Result<Socket> listener_ = ListenOn(point_.host, &point_.port);
  AcceptWatch watch_;
};

TEST_F(ControlPort, StrangerWithAnotherKeyIsDropped) {
  const auto other = GangTls::Create(*NewKey());
  auto stranger = std::async(std::launch::async, [&] {
    Socket socket = Connect();
    return (*other)->Connect(&socket, Soon());
  });
  std::map<Caller, Socket> arrived;
  EXPECT_EQ(AcceptCallers(*listener_, "", {kRank1}, watch_, Clock::Real().Now() + 300ms, &arrived)
                .reason(),
            Reason::kPeerTimeout);
  EXPECT_EQ(stranger.get().reason(), Reason::kPeerLost);
  ExpectRank1AfterAll();
}

TEST_F(ControlPort, PlaintextGreetingIsDropped) {
  Socket stranger = Connect();
  const std::string greeting = "assay-rank/1 00000001";
  EXPECT_TRUE(SendAll(stranger, greeting.data(), greeting.size(), Soon()).ok());
  ExpectRank1AfterAll();
}

TEST_F(ControlPort, SilentStrangerIsDroppedInTime) {
  watch_.greeting_patience = 20ms;
  const Socket stranger = Connect();
  auto accepted = std::async(std::launch::async, [&] {
    std::map<Caller, Socket> arrived;
    return AcceptCallers(*listener_, "", {kRank1}, watch_, Soon(), &arrived);
  });
  char byte = 0;
  EXPECT_EQ(ReceiveAll(stranger, &byte, 1, Soon()).reason(), Reason::kPeerLost);
  EXPECT_TRUE(ConnectAndGreet(point_, kRank1, Soon(), nullptr, tls_->get()).ok());
  EXPECT_TRUE(accepted.get().ok());
}

// Strangers at 127.0.0.2 open more connections than are kept, and open new ones all the time.
TEST_F(ControlPort, FloodFromOneAddressDoesNotKeepOthersOut) {
  std::promise<void> over;
  const std::shared_future<void> end = over.get_future().share();
  std::thread flood([&] {
    std::deque<Socket> strangers;
    sockaddr_in from{}, to{};
    from.sin_family = to.sin_family = AF_INET;
    inet_pton(AF_INET, "127.0.0.2", &from.sin_addr);
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    to.sin_port = htons(static_cast<uint16_t>(point_.port));
    while (end.wait_for(0s) == std::future_status::timeout) {
      strangers.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
      const int fd = strangers.back().fd();
      EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
      static_cast<void>(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to));
      if (strangers.size() == 200) strangers.pop_front();
    }
  });
  ExpectRank1AfterAll();
  over.set_value();
  flood.join();
}

TEST_F(ControlPort, RankRefusesARank0WithoutTheKey) {
  const auto other = GangTls::Create(*NewKey());
  watch_.tls = other->get();
  std::map<Caller, Socket> arrived;
  auto impostor = std::async(std::launch::async, [&] {
    return AcceptCallers(*listener_, "", {kRank1}, watch_, Clock::Real().Now() + 500ms, &arrived);
  });
  EXPECT_FALSE(
      ConnectAndGreet(point_, kRank1, Clock::Real().Now() + 300ms, nullptr, tls_->get()).ok());
  EXPECT_EQ(impostor.get().reason(), Reason::kPeerTimeout);
}

TEST_F(ControlPort, ShowsNeitherKeyNorMessages) {
  int port = 0;
  const auto relay = ListenOn("127.0.0.1", &port);
  // Forwards what the two ends of a connection send, and returns a copy of it.
  auto sniffed = std::async(std::launch::async, [&] {
    std::string copy;
    EXPECT_TRUE(WaitFor(relay->fd(), POLLIN, Soon()).ok());
    const Socket ends[] = {*AcceptWaiting(*relay), Connect()};
    for (;;) {
      pollfd entries[] = {{ends[0].fd(), POLLIN, 0}, {ends[1].fd(), POLLIN, 0}};
      poll(entries, 2, PollMillis(Soon()));
      for (const int from : {0, 1}) {
        char bytes[4096];
        const auto got = ReceiveSome(ends[from], bytes, sizeof bytes);
        if (!got.ok()) return copy;
        copy.append(bytes, *got);
        EXPECT_TRUE(SendAll(ends[1 - from], bytes, *got, Soon()).ok());
      }
    }
  });
  const std::string message = "a message in the clear";
  auto rank1 = std::async(std::launch::async, [&] {
    const MeetingPoint there = {point_.host, port, "", point_.key};
    auto socket = ConnectAndGreet(there, kRank1, Soon(), nullptr, tls_->get());
    EXPECT_TRUE(socket.ok()) << socket.status();
    EXPECT_TRUE(SendAll(*socket, message.data(), message.size(), Soon()).ok());
    return *std::move(socket);
  });
  {
    std::map<Caller, Socket> arrived;
    ASSERT_TRUE(AcceptCallers(*listener_, "", {kRank1}, watch_, Soon(), &arrived).ok());
    std::string got(message.size(), '\0');
    EXPECT_TRUE(ReceiveAll(arrived[kRank1], got.data(), got.size(), Soon()).ok());
    EXPECT_EQ(got, message);
    rank1.get();
  }
  const std::string copy = sniffed.get();
  EXPECT_THAT(copy, HasSubstr("assay-gang/1"));  // The name of the key, which is no secret.
  for (const std::string& secret : {point_.key, message, std::string("assay-rank")}) {
    EXPECT_THAT(copy, Not(HasSubstr(secret)));
  }
}

TEST(Peers, AllGather_LargeMessages_ArriveInBothDirections) {
  const std::string large(3'000'000, 'x');
  RunGang(3, [&](std::unique_ptr<Peers> peers) {
    const auto all = AllGather(*peers, large, 20s);
    ASSERT_TRUE(all.ok()) << all.status();
    for (const std::string& one : *all) EXPECT_EQ(one, large);
  });
}

}  // namespace
}  // namespace assay
