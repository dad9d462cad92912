#include "host/gpu_platform.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/wording.h"

namespace assay {
namespace {

CudaAnswer Answer(int error, bool device_files) {
  CudaAnswer answer;
  answer.error = error;
  answer.error_name = "cudaErrorName";
  answer.runtime_version = 13010;
  answer.driver_version = 13000;
  answer.device_files = device_files;
  return answer;
}

TEST(ExplainNoGpu, NodeWithoutGpus_IsNotBroken) {
  for (const int error : {0, 3, 100, 999, 12345}) {
    EXPECT_FALSE(ExplainNoGpu(Answer(error, false)).broken) << error;
  }
  CudaAnswer no_driver = Answer(35, false);
  no_driver.driver_version = 0;
  EXPECT_FALSE(ExplainNoGpu(no_driver).broken);
  EXPECT_WORDING("host/no-gpu", ExplainNoGpu(Answer(100, false)).why);
  EXPECT_WORDING("host/no-driver", ExplainNoGpu(no_driver).why);
}

TEST(ExplainNoGpu, OldDriver_IsNotBroken) {
  CudaAnswer old = Answer(35, true);
  old.driver_version = 12020;
  EXPECT_FALSE(ExplainNoGpu(old).broken);
  EXPECT_WORDING("host/old-driver", ExplainNoGpu(old).why);
}

TEST(ExplainNoGpu, NodeWithUnusableGpus_IsBrokenAndHasARemedyPerError) {
  std::set<std::string> remedies;
  for (const int error : {802, 803, 999, 304}) {
    const GpuAbsence absence = ExplainNoGpu(Answer(error, true));
    EXPECT_TRUE(absence.broken) << error;
    EXPECT_TRUE(remedies.insert(absence.why).second) << error;
  }
  EXPECT_WORDING("host/fabric-manager", ExplainNoGpu(Answer(802, true)).why);
}

TEST(ExplainNoGpu, ErrorsThatOnlyADriverWithGpusReturns_NeedNoDeviceFiles) {
  EXPECT_TRUE(ExplainNoGpu(Answer(802, false)).broken);
  EXPECT_TRUE(ExplainNoGpu(Answer(803, false)).broken);
}

TEST(ExplainNoGpu, DriverWithoutItsLibraries_IsBroken) {
  CudaAnswer answer = Answer(35, true);
  answer.driver_version = 0;
  EXPECT_TRUE(ExplainNoGpu(answer).broken);
}

TEST(ExplainNoGpu, HiddenGpus_AreNotBrokenButLostOnesAre) {
  CudaAnswer answer = Answer(100, true);
  for (const char* hides : {"", "-1", "NoDevFiles", "-1,0"}) {
    answer.visible_devices = hides;
    EXPECT_FALSE(ExplainNoGpu(answer).broken) << hides;
  }
  for (const char* names : {"0", "7", "GPU-4b2c", "MIG-1"}) {
    answer.visible_devices = names;
    EXPECT_TRUE(ExplainNoGpu(answer).broken) << names;
  }
  EXPECT_WORDING("host/visible-gpu-lost", ExplainNoGpu(answer).why);
  answer.visible_devices.reset();
  EXPECT_TRUE(ExplainNoGpu(answer).broken);
  EXPECT_EQ(ExplainNoGpu(answer).why, ExplainNoGpu(Answer(0, true)).why);
}

}  // namespace
}  // namespace assay
