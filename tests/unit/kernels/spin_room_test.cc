#include "kernels/net/spin_room.h"

#include <gtest/gtest.h>

#include "kernels/benchmark.h"
#include "tests/wording.h"

namespace assay {
namespace {

TEST(RoomToSpin, EachRankOfAHostNeedsACpu) {
  EXPECT_TRUE(RoomToSpin({{"a", {0, 1}}, {"a", {0, 1}}}).ok());
  EXPECT_TRUE(RoomToSpin({{"a", {0}}, {"a", {1}}}).ok());
  EXPECT_TRUE(RoomToSpin({{"a", {0}}, {"b", {0}}}).ok());
  EXPECT_TRUE(RoomToSpin({{"a", {}}, {"a", {}}}).ok()) << "unknown CPUs are not checked";
  const Status full = RoomToSpin({{"b", {0}}, {"a", {3}}, {"a", {3}}});
  EXPECT_TRUE(IsUnsupported(full));
  EXPECT_WORDING("kernels/spin-room-cpus", full.message());
}

TEST(RoomToSpin, RanksOfOneControlGroupShareItsQuota) {
  const std::vector<int> cpus = {0, 1, 2, 3};
  EXPECT_TRUE(RoomToSpin({{"a", cpus, {{"g", 2}}}, {"a", cpus, {{"g", 2}}}}).ok());
  EXPECT_TRUE(RoomToSpin({{"a", cpus, {{"g", 1}}}, {"a", cpus, {{"h", 1}}}}).ok());
  EXPECT_TRUE(RoomToSpin({{"a", cpus, {{"g", 1}}}, {"b", cpus, {{"g", 1}}}}).ok());
  const Status full =
      RoomToSpin({{"a", cpus, {{"g", 1.5}}}, {"a", cpus, {{"g", 1.5}}}, {"b", cpus, {{"g", 1.5}}}});
  EXPECT_TRUE(IsUnsupported(full));
  EXPECT_WORDING("kernels/spin-room-quota", full.message());
  EXPECT_TRUE(IsUnsupported(RoomToSpin({{"a", cpus, {{"g", 0.5}}}})));
}

}  // namespace
}  // namespace assay
