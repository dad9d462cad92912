// What ends a gang: ranks of different software, and ranks that die.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "kernels/net/peer_watch.h"
#include "kernels/runner/version_check.h"
#include "tests/unit/kernels/gang.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

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
    EXPECT_EQ(status.reason(), "VERSION_MISMATCH");
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
    const PeerWatch watch(peers->Connections(),
                          [&](const Status& status) { lost.set_value(status.ToString()); });
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
      const PeerWatch watch(peers->Connections(), [&](const Status&) { lost = true; });
      for (int round = 0; round < 100; ++round) ASSERT_TRUE(peers->Barrier(10s).ok());
    }
    EXPECT_FALSE(lost);
    EXPECT_TRUE(peers->Barrier(10s).ok());
  });
}

}  // namespace
}  // namespace assay
