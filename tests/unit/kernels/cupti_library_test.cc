#include "kernels/cuda/profiling/cupti_library.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

// The libcupti that this program finds first is fake_cupti.cc.
TEST(CuptiLibrary, NamesOfKernelsNeedNoProfilerOfCounters) {
  const auto activity = LoadCuptiActivity();
  ASSERT_TRUE(activity.ok()) << activity.status();
  EXPECT_NE((*activity)->activity_enable, nullptr);
  const Status profilers = LoadCuptiProfilers().status();
  EXPECT_EQ(profilers.reason(), Reason::kLibraryMissing);
}

}  // namespace
}  // namespace assay
