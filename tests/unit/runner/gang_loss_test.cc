// Tests the ends of a gang: ranks with different software, and ranks that die.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <limits>

#include "gang/peer_watch.h"
#include "gang/peers.h"
#include "runner/version_check.h"
#include "tests/unit/gang/gang.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kNever = std::numeric_limits<int>::max();

TEST(VersionCheck, SameVersionsPass) {
  RunGang(3, [](std::unique_ptr<Peers> peers) {
    EXPECT_TRUE(CheckVersions(*peers, {{"NCCL", "2.28.9"}}).ok());
    EXPECT_TRUE(CheckVersions(*peers, OwnVersions(Resource::kGpu)).ok());
  });
}

TEST(VersionCheck, EveryRankHearsWhichRankHasWhat) {
  RunGang(4, [](std::unique_ptr<Peers> peers) {
    Versions mine = {{"NCCL", peers->rank() == 2 ? "2.27.3" : "2.28.9"}, {"the driver", "580"}};
    if (peers->rank() == 3) mine["NCCL_ALGO"] = "Ring";
    const Status status = CheckVersions(*peers, mine);
    EXPECT_EQ(status.reason(), Reason::kVersionMismatch);
    EXPECT_THAT(status.message(),
                HasSubstr("NCCL is 2.28.9 at ranks 0, 1, 3 and 2.27.3 at rank 2; NCCL_ALGO is "
                          "not set at ranks 0, 1, 2 and Ring at rank 3"));
  });
}

TEST(PeerWatch, NamesTheRankThatDies) {
  std::promise<void> watched;
  const std::shared_future<void> armed = watched.get_future().share();
  RunGang(3, [&](std::unique_ptr<Peers> peers) {
    if (peers->rank() == 2) {
      armed.wait();
      return;  // Its connection ends.
    }
    std::promise<std::string> lost;
    PeerWatch watch(peers->Heartbeats(),
                    [&](const Status& status) { lost.set_value(status.ToString()); });
    watch.ReportEnds(true);
    if (peers->rank() == 0) {
      watched.set_value();
      EXPECT_THAT(lost.get_future().get(), HasSubstr("rank 2"));
    } else {  // Rank 0 ends in its turn.
      EXPECT_THAT(lost.get_future().get(), HasSubstr("rank 0"));
    }
  });
}

TEST(PeerWatch, IsQuietWhileRanksSpeakAndWhenItEnds) {
  RunGang(2, [](std::unique_ptr<Peers> peers) {
    bool lost = false;
    {
      PeerWatch watch(peers->Heartbeats(), [&](const Status&) { lost = true; });
      watch.ReportEnds(true);
      for (int round = 0; round < 100; ++round) ASSERT_TRUE(peers->Barrier(10s).ok());
      watch.ReportEnds(false);
      EXPECT_TRUE(peers->Barrier(10s).ok());
    }
    EXPECT_FALSE(lost);
  });
}

TEST(PeerWatch, NamesTheRankThatIsSilentAndNoOther) {
  std::promise<void> reported;
  const std::shared_future<void> done = reported.get_future().share();
  RunGang(3, [&](std::unique_ptr<Peers> peers) {
    if (peers->rank() != 0) {
      // Both keep their connections; rank 2 beats on none.
      const auto mine = peers->rank() == 1 ? peers->Heartbeats() : std::vector<PeerConnection>();
      const PeerWatch watch(mine, [](const Status&) {}, {.interval = 1ms, .patience = kNever});
      done.wait();
      return;
    }
    std::promise<Status> lost;
    const PeerWatch watch(peers->Heartbeats(),
                          [&](const Status& status) { lost.set_value(status); },
                          {.interval = 10ms, .patience = 30});
    const Status status = lost.get_future().get();
    EXPECT_EQ(status.reason(), Reason::kPeerTimeout);
    EXPECT_EQ(status.message(),
              "rank 2 has not answered for 0.3 s: its process is stopped, or its host hangs");
    reported.set_value();
  });
}

// As when both were stopped, one a little later.
TEST(PeerWatch, NamesTheOthersThatAreSilentAsWell) {
  std::promise<void> reported;
  const std::shared_future<void> done = reported.get_future().share();
  std::promise<void> sent;
  RunGang(4, [&](std::unique_ptr<Peers> peers) {
    if (peers->rank() != 0) {
      const auto mine = peers->rank() == 1 ? peers->Heartbeats() : std::vector<PeerConnection>();
      const PeerWatch watch(mine, [](const Status&) {}, {.interval = 1ms, .patience = kNever});
      const char last = 'b';
      if (peers->rank() == 3) {
        EXPECT_EQ(send(peers->Heartbeats()[0].fd, &last, 1, 0), 1);
        sent.set_value();
      }
      done.wait();
      return;
    }
    sent.get_future().wait();
    std::promise<Status> lost;
    const PeerWatch watch(peers->Heartbeats(),
                          [&](const Status& status) { lost.set_value(status); },
                          {.interval = 10ms, .patience = 30});
    const std::string message = lost.get_future().get().message();
    EXPECT_THAT(message, StartsWith("rank 2 has not answered for 0.3 s: "));
    EXPECT_THAT(message, ContainsRegex("hangs; also silent: rank 3 for 0[.][0-9]+ s$"));
    reported.set_value();
  });
}

// As when rank 0 still waits for others to come.
TEST(PeerWatch, WaitsLongerForTheFirstBeat) {
  RunGang(2, [](std::unique_ptr<Peers> peers) {
    std::promise<Status> lost;
    const PeerWatch watch(peers->rank() == 0 ? std::vector<PeerConnection>() : peers->Heartbeats(),
                          [&](const Status& status) { lost.set_value(status); },
                          {.interval = 2ms, .patience = 1, .first_patience = 20});
    if (peers->rank() == 1) {
      EXPECT_THAT(lost.get_future().get().message(), HasSubstr("has not answered for 0.04 s"));
    }
    EXPECT_TRUE(peers->Barrier(10s).ok());
  });
}

// A process that is stopped, and goes on as if nothing had been.
TEST(PeerWatch, StoppedRankIsNoticedAndBlamesNobodyItself) {
  const auto rendezvous = ListenForPeers("127.0.0.1");
  ASSERT_TRUE(rendezvous.ok());
  const pid_t child = fork();
  if (child == 0) {
    const auto peers = JoinPeers((*rendezvous)->token(), 1, 2, 20s);
    if (!peers.ok()) _exit(1);
    std::promise<void> lost;
    const PeerWatch watch((*peers)->Heartbeats(), [&](const Status&) { lost.set_value(); },
                          {.interval = 10ms, .patience = 15, .first_patience = 2000});
    if (!(*peers)->Barrier(20s).ok()) _exit(2);
    // Some beats long: what it blames rank 0 for, it does at the first.
    _exit(lost.get_future().wait_for(100ms) == std::future_status::timeout ? 0 : 3);
  }
  const auto peers = (*rendezvous)->Accept(2, {}, 20s);
  ASSERT_TRUE(peers.ok()) << peers.status();
  {
    std::promise<Status> lost;
    const PeerWatch watch((*peers)->Heartbeats(),
                          [&](const Status& status) { lost.set_value(status); },
                          {.interval = 10ms, .patience = 30});
    kill(child, SIGSTOP);
    const Status status = lost.get_future().get();
    EXPECT_EQ(status.reason(), Reason::kPeerTimeout);
    EXPECT_THAT(status.message(), HasSubstr("rank 1 has not answered"));
  }
  const PeerWatch watch((*peers)->Heartbeats(), {}, {.interval = 1ms, .patience = kNever});
  kill(child, SIGCONT);
  EXPECT_TRUE((*peers)->Barrier(20s).ok());
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace assay
