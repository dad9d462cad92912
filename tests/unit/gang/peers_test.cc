#include "gang/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
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
#include "tests/wording.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

TEST(Peers, GatherAndBroadcast_SeveralRanks_KeepRankOrder) {
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

TEST(Peers, Barrier_SeveralRanks_WaitsForAll) {
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

TEST(Peers, Broadcast_LargeMessage_Arrives) {
  RunGang(2, [](std::unique_ptr<Peers> peers) {
    std::string bytes = peers->rank() == 0 ? std::string(20 << 20, 'x') : "";
    ASSERT_TRUE(peers->Broadcast(&bytes, 20s).ok());
    EXPECT_EQ(bytes.size(), size_t{20} << 20);
  });
}

TEST(Peers, Agree_TwoRanksFail_ReturnsTheLowerEverywhere) {
  RunGang(3, [](std::unique_ptr<Peers> peers) {
    EXPECT_TRUE(Agree(*peers, Status::Ok(), 10s).ok());
    const auto mine_of = [](int rank) {
      return rank == 0 ? Status::Ok()
                       : Status(Code::kResourceExhausted, Reason::kOutOfMemory,
                                "GPU " + std::to_string(rank) + "\nis full");
    };
    const Status agreed = Agree(*peers, mine_of(peers->rank()), 10s);
    EXPECT_EQ(agreed.code(), Code::kResourceExhausted);
    EXPECT_EQ(agreed.reason(), Reason::kOutOfMemory);
    EXPECT_EQ(agreed.rank(), 1);
    EXPECT_EQ(agreed.message(), mine_of(1).message());
    // An error that was agreed before keeps its rank.
    EXPECT_EQ(Agree(*peers, agreed, 10s).rank(), 1);
  });
}

TEST(Peers, Agree_LostPeers_ReturnsTheirCause) {
  const auto agreed = [](const std::vector<Status>& by_rank) {
    Status at_rank_0;
    RunGang(static_cast<int>(by_rank.size()), [&](std::unique_ptr<Peers> peers) {
      const auto rank = static_cast<size_t>(peers->rank());
      const Status status = Agree(*peers, by_rank[rank], 10s);
      if (rank == 0) at_rank_0 = status;
    });
    return at_rank_0;
  };
  const Status lost = PeerLost("closed");
  const Status stalled = PeerTimeout("stalled").WithPeer({3, 12s});
  const Status first = agreed({lost, lost, stalled, PeerTimeout("late")});
  EXPECT_EQ(first.rank(), 2);
  EXPECT_EQ(first.peer().rank, 3);
  EXPECT_EQ(first.peer().silence, 12s);
  EXPECT_EQ(agreed({Status::Ok(), lost, lost}).rank(), 1);
}

TEST(Peers, Gather_RankLeaves_NamesItWhileWaitingForAnother) {
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
    EXPECT_EQ(gathered.status().peer().rank, 2);
    noticed = true;
  });
}

TEST(Peers, Gather_SilentRank_NamesIt) {
  RunGang(2, [&](std::unique_ptr<Peers> peers) {
    if (peers->rank() == 1) {
      std::string bytes;
      EXPECT_EQ(peers->Broadcast(&bytes, 10s).reason(), Reason::kPeerLost);
      return;
    }
    const auto gathered = peers->Gather("", 50ms);
    EXPECT_EQ(gathered.status().code(), Code::kDeadlineExceeded);
    EXPECT_EQ(gathered.status().peer().rank, 1);
  });
}

TEST(Peers, Gather_SeveralSilentRanks_NamesAll) {
  RunGang(4, [&](std::unique_ptr<Peers> peers) {
    std::string bytes;
    if (peers->rank() == 2) EXPECT_TRUE(peers->Gather("here", 10s).ok());
    if (peers->rank() != 0) {
      EXPECT_EQ(peers->Broadcast(&bytes, 10s).reason(), Reason::kPeerLost);
      return;
    }
    EXPECT_WORDING("gang/no-answer", peers->Gather("", 1s).status().message());
  });
}

TEST(Peers, Accept_StrangersAndGarbage_AreDropped) {
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
    if (i % 3 == 2) garbage = "assay-rank/1 " + std::string(32, '0') + "00000001";
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

TEST(Peers, Accept_MissingRanks_NamesThem) {
  auto rendezvous = ListenForPeers("127.0.0.1");
  ASSERT_TRUE(rendezvous.ok());
  const auto peers = (*rendezvous)->Accept(3, {}, 20ms);
  EXPECT_EQ(peers.status().reason(), Reason::kPeerTimeout);
  EXPECT_EQ(peers.status().peer().rank, 1);
  EXPECT_WORDING("gang/not-connected", peers.status().message());
}

TEST(Peers, Accept_OneOfTwoConnections_StillWaits) {
  auto rendezvous = ListenForPeers("127.0.0.1");
  ASSERT_TRUE(rendezvous.ok());
  const auto point = MeetingPoint::Parse((*rendezvous)->token());
  const auto tls = GangTls::Create(point->key);
  auto one = std::async(std::launch::async, [&] {
    return ConnectAndGreet(*point, {1, Purpose::kHeartbeats}, Clock::Real().Now() + 5s, nullptr,
                           tls->get());
  });
  const auto peers = (*rendezvous)->Accept(2, {}, 1s);
  EXPECT_EQ(peers.status().reason(), Reason::kPeerTimeout);
  EXPECT_EQ(peers.status().peer().rank, 1);
  EXPECT_TRUE(one.get().ok());
}

TEST(Peers, Arrived_AcceptFailed_ListsThoseThatCame) {
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

// Callers that greet while this rank is suspended until the time is over.
class GreetingThatWaits : public testing::Test {
 protected:
  // It is in this rank's hands when this returns.
  void Greet(const Caller& caller) {
    const bool messages = caller.purpose == Purpose::kMessages;
    const std::string greeting = (messages ? "assay-rank/1 " : "assay-beat/1 ") + point_.nonce +
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
  EXPECT_EQ(Accept({kFirst, kSecond}, 0s).peer().rank, 2);
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

TEST(Peers, Arrived_OneOfTwoConnections_IsListed) {
  auto rendezvous = ListenForPeers("127.0.0.1");
  ASSERT_TRUE(rendezvous.ok());
  const auto point = MeetingPoint::Parse((*rendezvous)->token());
  const auto tls = GangTls::Create(point->key);
  auto one = std::async(std::launch::async, [&] {
    return ConnectAndGreet(*point, {1, Purpose::kMessages}, Clock::Real().Now() + 5s, nullptr,
                           tls->get());
  });
  EXPECT_EQ((*rendezvous)->Accept(3, {}, 1s).status().reason(), Reason::kPeerTimeout);
  EXPECT_TRUE(one.get().ok());
  const std::vector<PeerConnection> arrived = (*rendezvous)->Arrived();
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_EQ(arrived[0].rank, 1);
  EXPECT_THAT(ContactsOf(arrived).heard, ElementsAre(1));
}

TEST(Peers, JoinPeers_RankZeroFrozen_NamesItsProcess) {
  auto rendezvous = ListenForPeers("127.0.0.1");
  ASSERT_TRUE(rendezvous.ok());
  const Status stopped = JoinPeers((*rendezvous)->token(), 1, 2, 300ms).status();
  EXPECT_EQ(stopped.reason(), Reason::kPeerFrozen);
  EXPECT_EQ(stopped.peer().rank, 0);
  EXPECT_WORDING("gang/peer-frozen", stopped.message());
  const std::string token = (*rendezvous)->token();
  rendezvous->reset();
  EXPECT_EQ(JoinPeers(token, 1, 2, 300ms).status().reason(), Reason::kPeerTimeout);
}

// Rank 2 of 3 connects for heartbeats and says nothing more, so that its host seems silent soon.
class SilentCaller : public testing::Test {
 protected:
  SilentCaller() : listener_(ListenOn(point_.host, &point_.port)) {
    const MonotonicTime soon = Clock::Real().Now() + 5s;
    auto caller = ConnectTo(point_.host, point_.port, soon);
    const std::string greeting = "assay-beat/1 " + point_.nonce + "00000002";
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
  EXPECT_EQ(status.reason(), Reason::kPeerUnreachable);
  EXPECT_EQ(status.peer().rank, 2);
}

TEST_F(SilentCaller, MayHaveLeftWhileItsHostAnswers) {
  caller_ = Socket();
  const Status status = Accept(300ms);
  EXPECT_EQ(status.reason(), Reason::kPeerTimeout);
  EXPECT_EQ(status.peer().rank, 1);
}

TEST(Peers, JoinPeers_BadToken_IsRefused) {
  for (const char* token : {"", "host", "host:1", "host:1/short", "host:99999/0123456789abcdef0123",
                            "/0123456789abcdef0123456789abcdef"}) {
    const auto peers = JoinPeers(token, 1, 2, 10ms);
    EXPECT_EQ(peers.status().reason(), Reason::kBadToken) << token;
  }
}

}  // namespace
}  // namespace assay
