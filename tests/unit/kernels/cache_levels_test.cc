#include "kernels/cuda/memory/cache_levels.h"

#include <gtest/gtest.h>

#include "tests/wording.h"

namespace assay {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;

const CacheSizes kH200 = {256 * kKiB, 227 * kKiB, 60 * kMiB};

TEST(CacheLevels, LevelAcceptsUpToItsCapacity) {
  EXPECT_TRUE(CheckLevel("l1", 256 * kKiB, kH200).ok());
  EXPECT_FALSE(CheckLevel("l1", 256 * kKiB + 16, kH200).ok());
  EXPECT_TRUE(CheckLevel("shared", 227 * kKiB, kH200).ok());
  EXPECT_FALSE(CheckLevel("shared", 227 * kKiB + 16, kH200).ok());
  EXPECT_TRUE(CheckLevel("l2", 60 * kMiB, kH200).ok());
  EXPECT_FALSE(CheckLevel("l2", 60 * kMiB + 16, kH200).ok());
  EXPECT_FALSE(CheckLevel("hbm", 480 * kMiB - 16, kH200).ok());
  EXPECT_TRUE(CheckLevel("hbm", 480 * kMiB, kH200).ok());
}

TEST(CacheLevels, WithoutLevelEverySizeIsAccepted) {
  for (int64_t bytes = 16; bytes <= int64_t{1} << 39; bytes *= 2) {
    EXPECT_TRUE(CheckLevel("none", bytes, kH200).ok()) << bytes;
  }
}

TEST(CacheLevels, RefusalSaysWhatFits) {
  EXPECT_WORDING("kernels/level-l1", CheckLevel("l1", 16 * kMiB, kH200).message());
  EXPECT_WORDING("kernels/level-shared", CheckLevel("shared", 16 * kMiB, kH200).message());
  EXPECT_WORDING("kernels/level-l2", CheckLevel("l2", int64_t{4} << 30, kH200).message());
  EXPECT_WORDING("kernels/level-hbm", CheckLevel("hbm", 16, kH200).message());
  EXPECT_EQ(CheckLevel("l2", int64_t{4} << 30, kH200).code(), Code::kInvalidArgument);
}

TEST(CacheLevels, L1SizeFollowsTheArchitecture) {
  EXPECT_EQ(UnifiedL1Bytes(7, 5), 96 * kKiB);
  EXPECT_EQ(UnifiedL1Bytes(8, 0), 192 * kKiB);
  EXPECT_EQ(UnifiedL1Bytes(8, 6), 128 * kKiB);
  EXPECT_EQ(UnifiedL1Bytes(9, 0), 256 * kKiB);
  EXPECT_EQ(UnifiedL1Bytes(12, 0), 128 * kKiB);
}

}  // namespace
}  // namespace assay
