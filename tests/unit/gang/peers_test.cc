#include "gang/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <atomic>
#include <future>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "common/subprocess.h"
#include "gang/contacts.h"
#include "gang/greeting.h"
#include "tests/unit/gang/gang.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Peers, GatherAndBroadcastInRankOrder) {
  RunGang(4, [](std::unique_ptr<Peers> peers) {
    for (int round = 0; round < 50; ++round) {
      const std::string mine(static_cast<size_t>(peers->rank() * 1000 + round),
                             static_cast<char>('a' + peers->rank()));
      const auto all = AllGather(*peers, mine, 10s);
      ASSERT_TRUE(all.ok()) << all.status();
      ASSERT_EQ(all->size(), 4u);
      for (size_t rank = 0; rank < 4; ++rank) {
        EXPECT_EQ((*all)[rank], std::string(rank * 1000 + static_cast<size_t>(round),
                                            static_cast<char>('a' + rank)));
      }
    }
  });
}

TEST(Peers, BarrierLetsNobodyThroughEarly) {
  std::atomic<int> arrived{0};
  RunGang(3, [&](std::unique_ptr<Peers> peers) {
    for (int round = 1; round <= 100; ++round) {
      ++arrived;
      ASSERT_TRUE(peers->Barrier(10s).ok());
      EXPECT_GE(arrived.load(), 3 * round);
      ASSERT_TRUE(peers->Barrier(10s).ok());
    }
  });
}

TEST(Peers, LargeMessages) {
  RunGang(2, [](std::unique_ptr<Peers> peers) {
    std::string bytes = peers->rank() == 0 ? std::string(20 << 20, 'x') : "";
    ASSERT_TRUE(peers->Broadcast(&bytes, 20s).ok());
    EXPECT_EQ(bytes.size(), size_t{20} << 20);
  });
}

TEST(Peers, AgreeGivesEveryRankTheFirstFailure) {
  RunGang(3, [](std::unique_ptr<Peers> peers) {
    EXPECT_TRUE(Agree(*peers, Status::Ok(), 10s).ok());
    const Status mine = peers->rank() == 0
                            ? Status::Ok()
                            : Status(Code::kResourceExhausted, Reason::kOutOfMemory,
                                     "GPU " + std::to_string(peers->rank()) + "\nis full");
    const Status agreed = Agree(*peers, mine, 10s);
    EXPECT_EQ(agreed.code(), Code::kResourceExhausted);
    EXPECT_EQ(agreed.reason(), Reason::kOutOfMemory);
    EXPECT_EQ(agreed.message(), "rank 1: GPU 1\nis full");
    // As when a case has agreed, and then all ranks do on how the case went.
    EXPECT_EQ(Agree(*peers, agreed, 10s).message(), agreed.message());
  });
}

TEST(Peers, AgreePrefersTheErrorThatCostTheOthersTheirPeer) {
  const auto agreed = [](const std::vector<Status>& by_rank) {
    std::string message;
    RunGang(static_cast<int>(by_rank.size()), [&](std::unique_ptr<Peers> peers) {
      const auto rank = static_cast<size_t>(peers->rank());
      const Status status = Agree(*peers, by_rank[rank], 10s);
      if (rank == 0) message = status.message();
    });
    return message;
  };
  const Status lost = PeerLost("closed");
  EXPECT_EQ(agreed({lost, lost, PeerTimeout("stalled"), PeerTimeout("late")}), "rank 2: stalled");
  EXPECT_EQ(agreed({Status::Ok(), lost, lost}), "rank 1: closed");
}

TEST(Peers, LostRankIsNamedWhileAnotherIsWaitedFor) {
  std::atomic<bool> noticed{false};
  RunGang(3, [&](std::unique_ptr<Peers> peers) {
    if (peers->rank() == 2) return;  // Closes its connection.
    if (peers->rank() == 1) {        // Never sends: rank 0 must not wait for it.
      std::string bytes;
      EXPECT_EQ(peers->Broadcast(&bytes, 10s).reason(), Reason::kPeerLost);
      EXPECT_TRUE(noticed);
      return;
    }
    const auto gathered = peers->Gather("", 10s);
    EXPECT_EQ(gathered.status().reason(), Reason::kPeerLost);
    EXPECT_THAT(gathered.status().message(), HasSubstr("rank 2"));
    noticed = true;
  });
}

TEST(Peers, SilentRankIsATimeoutThatNamesIt) {
  RunGang(2, [&](std::unique_ptr<Peers> peers) {
    if (peers->rank() == 1) {
      std::string bytes;
      EXPECT_EQ(peers->Broadcast(&bytes, 10s).reason(), Reason::kPeerLost);
      return;
    }
    const auto gathered = peers->Gather("", 50ms);
    EXPECT_EQ(gathered.status().code(), Code::kDeadlineExceeded);
    EXPECT_THAT(gathered.status().message(), HasSubstr("rank 1"));
  });
}

TEST(Peers, AllThatDoNotAnswerInTimeAreNamed) {
  RunGang(4, [&](std::unique_ptr<Peers> peers) {
    std::string bytes;
    if (peers->rank() == 2) EXPECT_TRUE(peers->Gather("here", 10s).ok());
    if (peers->rank() != 0) {
      EXPECT_EQ(peers->Broadcast(&bytes, 10s).reason(), Reason::kPeerLost);
      return;
    }
    EXPECT_EQ(peers->Gather("", 1s).status().message(), "rank 1: no answer in time, nor of rank 3");
  });
}

TEST(Peers, StrangersAndGarbageAreDropped) {
  auto rendezvous = ListenForPeers("127.0.0.1");
  ASSERT_TRUE(rendezvous.ok());
  auto point = MeetingPoint::Parse((*rendezvous)->token());
  ASSERT_TRUE(point.ok());
  const MonotonicTime soon = Clock::Real().Now() + 5s;
  // Silent, garbage, and the right form with a wrong nonce; more than are kept.
  std::vector<Socket> strangers;
  for (int i = 0; i < 100; ++i) {
    auto stranger = ConnectTo(point->host, point->port, soon);
    ASSERT_TRUE(stranger.ok()) << stranger.status();
    std::string garbage;
    if (i % 3 == 1) garbage = std::string(1000, '\xff');
    if (i % 3 == 2) garbage = "assay-rank/3 " + std::string(32, '0') + "00000001";
    EXPECT_TRUE(SendAll(*stranger, garbage.data(), garbage.size(), soon).ok());
    strangers.push_back(std::move(*stranger));
  }
  std::thread rank1([&] {
    const auto peers = JoinPeers((*rendezvous)->token(), 1, 2, 10s);
    ASSERT_TRUE(peers.ok()) << peers.status();
    EXPECT_TRUE((*peers)->Barrier(10s).ok());
  });
  const auto peers = (*rendezvous)->Accept(2, {}, 10s);
  EXPECT_TRUE(peers.ok()) << peers.status();
  if (peers.ok()) EXPECT_TRUE((*peers)->Barrier(10s).ok());
  rank1.join();
}

TEST(Peers, MissingRanksAreNamed) {
  auto rendezvous = ListenForPeers("127.0.0.1");
  ASSERT_TRUE(rendezvous.ok());
  const auto peers = (*rendezvous)->Accept(3, {}, 20ms);
  EXPECT_EQ(peers.status().reason(), Reason::kPeerTimeout);
  EXPECT_EQ(peers.status().message(), "rank 1 did not connect in time, nor did rank 2");
}

TEST(Peers, ARankHasComeWhenBothOfItsConnectionsHave) {
  auto rendezvous = ListenForPeers("127.0.0.1");
  ASSERT_TRUE(rendezvous.ok());
  const auto point = MeetingPoint::Parse((*rendezvous)->token());
  auto one = std::async(std::launch::async, [&] {
    return ConnectAndGreet(*point, {1, Purpose::kHeartbeats}, Clock::Real().Now() + 5s);
  });
  const auto peers = (*rendezvous)->Accept(2, {}, 1s);
  EXPECT_EQ(peers.status().reason(), Reason::kPeerTimeout);
  EXPECT_THAT(peers.status().message(), HasSubstr("rank 1"));
  EXPECT_TRUE(one.get().ok());
}

TEST(Peers, WhoHadComeWhenTheMeetingFailedIsKnown) {
  auto rendezvous = ListenForPeers("127.0.0.1");
  ASSERT_TRUE(rendezvous.ok());
  EXPECT_TRUE((*rendezvous)->Arrived().empty());
  auto came =
      std::async(std::launch::async, [&] { return JoinPeers((*rendezvous)->token(), 2, 3, 10s); });
  EXPECT_EQ((*rendezvous)->Accept(3, {}, 1s).status().reason(), Reason::kPeerTimeout);
  const auto rank2 = came.get();
  ASSERT_TRUE(rank2.ok()) << rank2.status();
  EXPECT_THAT(ContactsOf((*rendezvous)->Arrived()).heard, ElementsAre(2));
  EXPECT_THAT(ContactsOf((*rendezvous)->Arrived()).silent, ElementsAre());
  EXPECT_THAT(ContactsOf((*rank2)->Heartbeats()).heard, ElementsAre(0));
}

// As those that knock while this rank is stopped and the time runs out.
class GreetingThatWaits : public testing::Test {
 protected:
  // It is in this rank's hands when this returns.
  void Greet(const Caller& caller) {
    const bool messages = caller.purpose == Purpose::kMessages;
    const std::string greeting = (messages ? "assay-rank/3 " : "assay-beat/3 ") + point_.nonce +
                                 "0000000" + std::to_string(caller.rank);
    auto socket = ConnectTo(point_.host, point_.port, Clock::Real().Now() + 5s);
    ASSERT_TRUE(socket.ok()) << socket.status();
    ASSERT_TRUE(SendAll(*socket, greeting.data(), greeting.size(), Clock::Real().Now() + 5s).ok());
    for (int unread = 1; unread != 0;) ASSERT_EQ(ioctl(socket->fd(), SIOCOUTQ, &unread), 0);
    callers_.push_back(*std::move(socket));
  }

  Status Accept(const std::set<Caller>& callers, Duration timeout) {
    return AcceptCallers(*listener_, point_.nonce, callers, watch_, Clock::Real().Now() + timeout,
                         &arrived_);
  }

  static constexpr Caller kFirst = {1, Purpose::kMessages};
  static constexpr Caller kSecond = {2, Purpose::kMessages};
  MeetingPoint point_{"127.0.0.1", 0, std::string(32, 'a')};
  Result<Socket> listener_ = ListenOn(point_.host, &point_.port);
  std::vector<Socket> callers_;
  AcceptWatch watch_;
  std::map<Caller, Socket> arrived_;
};

TEST_F(GreetingThatWaits, CountsWhenTheTimeIsOver) {
  Greet(kFirst);
  Greet(kSecond);
  const Status all = Accept({kFirst, kSecond}, 0s);
  EXPECT_TRUE(all.ok()) << all;
  Greet(kFirst);
  EXPECT_EQ(Accept({kFirst, kSecond}, 0s).message(), "rank 2 did not connect in time");
}

TEST_F(GreetingThatWaits, CountsWhenTheJobIsEnded) {
  auto end = MakePipe();
  end->write.Close();
  watch_.processes = {end->read.get()};
  Greet(kSecond);
  EXPECT_EQ(Accept({kFirst, kSecond}, 5s).reason(), Reason::kPeerLost);
  EXPECT_EQ(arrived_.count(kSecond), 1u);
  Greet(kFirst);
  EXPECT_TRUE(Accept({kFirst}, 5s).ok());
}

TEST(Peers, ARankThatHasBegunToComeIsNoneThatNeverCame) {
  auto rendezvous = ListenForPeers("127.0.0.1");
  ASSERT_TRUE(rendezvous.ok());
  const auto point = MeetingPoint::Parse((*rendezvous)->token());
  auto one = std::async(std::launch::async, [&] {
    return ConnectAndGreet(*point, {1, Purpose::kMessages}, Clock::Real().Now() + 5s);
  });
  EXPECT_EQ((*rendezvous)->Accept(3, {}, 1s).status().reason(), Reason::kPeerTimeout);
  EXPECT_TRUE(one.get().ok());
  const std::vector<PeerConnection> arrived = (*rendezvous)->Arrived();
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_EQ(arrived[0].rank, 1);
  EXPECT_THAT(ContactsOf(arrived).heard, ElementsAre(1));
}

TEST(Peers, ARankZeroThatIsStoppedIsNamedAndNotItsLink) {
  auto rendezvous = ListenForPeers("127.0.0.1");
  ASSERT_TRUE(rendezvous.ok());
  const Status stopped = JoinPeers((*rendezvous)->token(), 1, 2, 300ms).status();
  EXPECT_EQ(stopped.reason(), Reason::kPeerTimeout);
  EXPECT_THAT(stopped.message(), StartsWith("rank 0 has not answered for 0.3 s: its process"));
  const std::string token = (*rendezvous)->token();
  rendezvous->reset();
  EXPECT_THAT(JoinPeers(token, 1, 2, 300ms).status().message(), StartsWith("rank 0: 127.0.0.1:"));
}

// Rank 2 of 3 connects for heartbeats and says nothing more, so that its host seems silent soon.
class SilentCaller : public testing::Test {
 protected:
  SilentCaller() : listener_(ListenOn(point_.host, &point_.port)) {
    const MonotonicTime soon = Clock::Real().Now() + 5s;
    auto caller = ConnectTo(point_.host, point_.port, soon);
    const std::string greeting = "assay-beat/3 " + point_.nonce + "00000002";
    EXPECT_TRUE(SendAll(*caller, greeting.data(), greeting.size(), soon).ok());
    caller_ = *std::move(caller);
  }

  Status Accept(Duration timeout) {
    AcceptWatch watch;
    watch.hosts.interval = 10ms;
    watch.hosts.host_patience = 50ms;
    std::map<Caller, Socket> arrived;
    return AcceptCallers(*listener_, point_.nonce,
                         {{1, Purpose::kHeartbeats}, {2, Purpose::kHeartbeats}}, watch,
                         Clock::Real().Now() + timeout, &arrived);
  }

  MeetingPoint point_{"127.0.0.1", 0, std::string(32, 'a')};
  Result<Socket> listener_;
  Socket caller_;
};

TEST_F(SilentCaller, IsNamedWhileOthersAreAwaited) {
  const Status status = Accept(20s);
  EXPECT_EQ(status.reason(), Reason::kPeerTimeout);
  EXPECT_THAT(status.message(), HasSubstr("rank 2: its host has not answered for"));
}

TEST_F(SilentCaller, MayHaveLeftWhileItsHostAnswers) {
  caller_ = Socket();
  const Status status = Accept(300ms);
  EXPECT_EQ(status.reason(), Reason::kPeerTimeout);
  EXPECT_THAT(status.message(), HasSubstr("rank 1 did not connect in time"));
}

TEST(Peers, ARankOfAnotherVersionIsNamed) {
  auto rendezvous = ListenForPeers("127.0.0.1");
  ASSERT_TRUE(rendezvous.ok());
  const auto point = MeetingPoint::Parse((*rendezvous)->token());
  const MonotonicTime soon = Clock::Real().Now() + 5s;
  const auto older = ConnectTo(point->host, point->port, soon);
  ASSERT_TRUE(older.ok()) << older.status();
  const std::string greeting = "assay-rank/1 " + point->nonce + "00000002";
  ASSERT_TRUE(SendAll(*older, greeting.data(), greeting.size(), soon).ok());
  const auto peers = (*rendezvous)->Accept(3, {}, 5s);
  EXPECT_EQ(peers.status().reason(), Reason::kVersionMismatch);
  EXPECT_THAT(peers.status().message(), HasSubstr("rank 2 greets in version 1"));
}

// A rank 0 of an older version takes it for a stranger.
TEST(Peers, ARankThatIsNotWelcomeAsksForTheVersion) {
  int port = 0;
  auto listener = ListenOn("127.0.0.1", &port);
  ASSERT_TRUE(listener.ok()) << listener.status();
  auto joined = std::async(std::launch::async, [port] {
    return JoinPeers(MeetingPoint{"127.0.0.1", port, std::string(32, 'a')}.ToString(), 1, 2, 100ms);
  });
  while (joined.wait_for(0s) != std::future_status::ready) {
    pollfd entry = {listener->fd(), POLLIN, 0};
    poll(&entry, 1, 10);
    EXPECT_TRUE(AcceptWaiting(*listener).ok());  // And the connection is closed.
  }
  EXPECT_THAT(joined.get().status().message(), HasSubstr("of another version?"));
}

TEST(Peers, BadTokensAreRefusedWithoutRepeatingThem) {
  for (const char* token : {"", "host", "host:1", "host:1/short", "host:99999/0123456789abcdef0123",
                            "/0123456789abcdef0123456789abcdef"}) {
    const auto peers = JoinPeers(token, 1, 2, 10ms);
    EXPECT_EQ(peers.status().reason(), Reason::kBadToken) << token;
  }
}

}  // namespace
}  // namespace assay
