#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "gang/peers.h"
#include "kernels/net/ring.h"
#include "kernels/registry.h"
#include "tests/unit/gang/gang.h"
#include "tests/wording.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

class RingSizes : public testing::TestWithParam<std::pair<int, int64_t>> {};

TEST_P(RingSizes, EveryElementOfEveryRankIsExact) {
  const auto [ranks, elements] = GetParam();
  RunGang(ranks, [elements = elements](std::unique_ptr<Peers> peers) {
    auto ring = Ring::Connect(*peers, "127.0.0.1", 20s);
    ASSERT_TRUE(ring.ok()) << ring.status();
    std::vector<float> in(static_cast<size_t>(elements));
    for (int64_t i = 0; i < elements; ++i) {
      in[static_cast<size_t>(i)] = AllReduceInput(42, peers->rank(), i);
    }
    for (int round = 0; round < 2; ++round) {
      std::vector<float> out(in.size(), std::nanf(""));
      const Status reduced = ring->AllReduce(in.data(), out.data(), elements);
      ASSERT_TRUE(reduced.ok()) << reduced;
      const Verdict verdict = VerifyAllReduce(42, peers->world_size(), out.data(), elements);
      EXPECT_TRUE(verdict.passed) << verdict.detail;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(AnySize, RingSizes,
                         testing::Values(std::pair{2, 1}, std::pair{2, 2}, std::pair{2, 1000003},
                                         std::pair{3, 2}, std::pair{3, 100}, std::pair{4, 1},
                                         std::pair{4, 7}, std::pair{4, 4096},
                                         // Beyond what socket buffers hold: no deadlock.
                                         std::pair{2, 8 << 20}, std::pair{4, (4 << 20) + 1},
                                         std::pair{8, 12345}));

TEST(Ring, LostRankIsNamedAndTheOthersStop) {
  std::atomic<int> errors{0};
  RunGang(4, [&](std::unique_ptr<Peers> peers) {
    auto ring = Ring::Connect(*peers, "127.0.0.1", 20s);
    ASSERT_TRUE(ring.ok()) << ring.status();
    if (peers->rank() == 2) return;
    std::vector<float> in(1 << 20, 1);
    std::vector<float> out(in.size());
    const Status status = ring->AllReduce(in.data(), out.data(), 1 << 20);
    EXPECT_EQ(status.reason(), Reason::kPeerLost) << status;
    EXPECT_EQ(ring->AllReduce(in.data(), out.data(), 4).reason(), Reason::kPeerLost);
    ++errors;
  });
  EXPECT_EQ(errors, 3);
}

TEST(Ring, SilentRankIsATimeout) {
  RunGang(2, [&](std::unique_ptr<Peers> peers) {
    auto ring = Ring::Connect(*peers, "127.0.0.1", 20s);
    ASSERT_TRUE(ring.ok()) << ring.status();
    if (peers->rank() == 1) {  // Keeps its connections and does nothing.
      std::string told;
      EXPECT_TRUE(peers->Broadcast(&told, 20s).ok());
      return;
    }
    ring->set_stall_timeout(30ms);
    float in = 1;
    float out = 0;
    const Status status = ring->AllReduce(&in, &out, 1);
    EXPECT_EQ(status.reason(), Reason::kPeerTimeout) << status;
    EXPECT_WORDING("kernels/ring-stalled", status.message());
    std::string done = "done";
    EXPECT_TRUE(peers->Broadcast(&done, 20s).ok());
  });
}

TEST(AllReducePattern, SumsAreExactInFp32) {
  for (const int64_t index : {0, 1, 77, 123456}) {
    for (const int ranks : {2, 3, 64}) {
      double sum = 0;
      for (int rank = 0; rank < ranks; ++rank) sum += AllReduceInput(9, rank, index);
      EXPECT_EQ(sum, AllReduceSum(9, ranks, index));
      EXPECT_LT(sum, 1 << 24);
    }
  }
}

TEST(AllReducePattern, PlantedFaultsAreFound) {
  constexpr int64_t kElements = 5000;
  std::vector<float> out(kElements);
  for (int64_t i = 0; i < kElements; ++i) {
    out[static_cast<size_t>(i)] = AllReduceSum(1, 4, i);
  }
  ASSERT_TRUE(VerifyAllReduce(1, 4, out.data(), kElements).passed);
  for (const float wrong : {std::nanf(""), out[4321] + 1, -out[4321] - 1, HUGE_VALF}) {
    std::vector<float> planted = out;
    planted[4321] = wrong;
    const Verdict verdict = VerifyAllReduce(1, 4, planted.data(), kElements);
    EXPECT_FALSE(verdict.passed);
    EXPECT_EQ(verdict.error, 1);
    if (std::isinf(wrong)) EXPECT_WORDING("kernels/wrong-sum", verdict.detail);
  }
  // Another rank count or seed is another sum.
  EXPECT_FALSE(VerifyAllReduce(1, 3, out.data(), kElements).passed);
  EXPECT_FALSE(VerifyAllReduce(2, 4, out.data(), kElements).passed);
}

}  // namespace
}  // namespace assay
