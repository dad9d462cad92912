#include "kernels/net/spin_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/benchmark.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(SpinRoom, RanksOfAHostNeedACpuEach) {
  EXPECT_TRUE(RoomToSpin({{"a", {0, 1}}, {"a", {0, 1}}}).ok());
  EXPECT_TRUE(RoomToSpin({{"a", {0}}, {"a", {1}}}).ok());
  EXPECT_TRUE(RoomToSpin({{"a", {0}}, {"b", {0}}}).ok());
  EXPECT_TRUE(RoomToSpin({{"a", {}}, {"a", {}}}).ok()) << "nothing is known";
  const Status full = RoomToSpin({{"b", {0}}, {"a", {3}}, {"a", {3}}});
  EXPECT_TRUE(IsUnsupported(full)) << full;
  EXPECT_THAT(full.message(), HasSubstr("ranks 1, 2 share a host and may use 1: take wait=sleep"));
}

TEST(SpinRoom, RanksOfAControlGroupNeedACpusTimeEach) {
  const std::vector<int> cpus = {0, 1, 2, 3};
  EXPECT_TRUE(RoomToSpin({{"a", cpus, {{"g", 2}}}, {"a", cpus, {{"g", 2}}}}).ok());
  EXPECT_TRUE(RoomToSpin({{"a", cpus, {{"g", 1}}}, {"a", cpus, {{"h", 1}}}}).ok());
  EXPECT_TRUE(RoomToSpin({{"a", cpus, {{"g", 1}}}, {"b", cpus, {{"g", 1}}}}).ok());
  const Status full = RoomToSpin(
      {{"a", cpus, {}}, {"a", cpus, {{"h", 2}, {"g", 1.5}}}, {"a", cpus, {{"h", 2}, {"g", 1.5}}}});
  EXPECT_TRUE(IsUnsupported(full)) << full;
  EXPECT_THAT(full.message(),
              HasSubstr("ranks 1, 2 share a CPU quota of 1.5: take wait=sleep, or raise it"));
  EXPECT_THAT(RoomToSpin({{"a", cpus, {{"g", 0.5}}}}).message(), HasSubstr("rank 0 shares a CPU"));
}

}  // namespace
}  // namespace assay
