// Tests what ends a gang: different software, and ranks that die or freeze.
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
#include "tests/wording.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

constexpr int kNever = std::numeric_limits<int>::max();

TEST(VersionCheck, SameVersions_Pass) {
  RunGang(3, [](std::unique_ptr<Peers> peers) {
    EXPECT_TRUE(CheckVersions(*peers, {{"NCCL", "2.28.9"}}).ok());
    EXPECT_TRUE(CheckVersions(*peers, OwnVersions(Resource::kGpu)).ok());
  });
}

TEST(VersionCheck, DifferentVersions_AreNamedAtEveryRank) {
  RunGang(4, [](std::unique_ptr<Peers> peers) {
    Versions mine = {{"NCCL", peers->rank() == 2 ? "2.27.3" : "2.28.9"}, {"the driver", "580"}};
    if (peers->rank() == 3) mine["NCCL_ALGO"] = "Ring";
    const Status status = CheckVersions(*peers, mine);
    EXPECT_EQ(status.reason(), Reason::kVersionMismatch);
    EXPECT_WORDING("runner/version-mismatch", status.message());
  });
}

TEST(PeerWatch, RankDies_NamesIt) {
  std::promise<void> watched;
  const std::shared_future<void> armed = watched.get_future().share();
  RunGang(3, [&](std::unique_ptr<Peers> peers) {
    if (peers->rank() == 2) {
      armed.wait();
      return;  // Its connection ends.
    }
    std::promise<Status> lost;
    PeerWatch watch(peers->Heartbeats(), [&](const Status& status) { lost.set_value(status); });
    watch.ReportEnds(true);
    if (peers->rank() == 0) watched.set_value();
    const Status status = lost.get_future().get();
    EXPECT_EQ(status.reason(), Reason::kPeerLost);
    EXPECT_EQ(status.peer().rank, peers->rank() == 0 ? 2 : 0);  // Rank 0 ends after rank 2.
  });
}

TEST(PeerWatch, RanksSpeak_ReportsNothing) {
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

TEST(PeerWatch, RankSilent_NamesItAlone) {
  std::promise<void> reported;
  const std::shared_future<void> done = reported.get_future().share();
  RunGang(3, [&](std::unique_ptr<Peers> peers) {
    if (peers->rank() != 0) {
      // Both keep their connections; rank 2 sends no heartbeats.
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
    EXPECT_EQ(status.reason(), Reason::kPeerFrozen);
    EXPECT_EQ(status.peer().rank, 2);
    EXPECT_EQ(status.peer().silence, 300ms);
    reported.set_value();
  });
}

TEST(PeerWatch, FirstBeat_HasMorePatience) {
  RunGang(2, [](std::unique_ptr<Peers> peers) {
    std::promise<Status> lost;
    const PeerWatch watch(peers->rank() == 0 ? std::vector<PeerConnection>() : peers->Heartbeats(),
                          [&](const Status& status) { lost.set_value(status); },
                          {.interval = 2ms, .patience = 1, .first_patience = 20});
    if (peers->rank() == 1) {
      EXPECT_EQ(lost.get_future().get().peer().silence, 40ms);
    }
    EXPECT_TRUE(peers->Barrier(10s).ok());
  });
}

TEST(PeerWatch, SuspendedRank_IsReportedAndReportsNobody) {
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
    // Lasts several heartbeats: if this rank blamed rank 0, it would do so at the first one.
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
    EXPECT_EQ(status.reason(), Reason::kPeerFrozen);
    EXPECT_EQ(status.peer().rank, 1);
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
