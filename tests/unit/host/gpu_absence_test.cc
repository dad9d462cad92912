#include "host/gpu_absence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using ::testing::HasSubstr;

CudaAnswer Answer(int error, bool device_files) {
  CudaAnswer answer;
  answer.error = error;
  answer.error_name = "cudaErrorName";
  answer.runtime_version = 13010;
  answer.driver_version = 13000;
  answer.device_files = device_files;
  return answer;
}

TEST(ExplainNoGpu, ANodeWithoutGpusIsNoFault) {
  for (const int error : {0, 100}) {
    EXPECT_FALSE(ExplainNoGpu(Answer(error, false)).broken) << error;
    EXPECT_EQ(ExplainNoGpu(Answer(error, false)).why, "needs a CUDA GPU; this node has none");
  }
  for (const int error : {3, 46, 999, 12345}) {
    EXPECT_FALSE(ExplainNoGpu(Answer(error, false)).broken) << error;
    EXPECT_THAT(ExplainNoGpu(Answer(error, false)).why,
                HasSubstr("none under /dev, and CUDA answers cudaErrorName"));
  }
  CudaAnswer no_driver = Answer(35, false);
  no_driver.driver_version = 0;
  EXPECT_FALSE(ExplainNoGpu(no_driver).broken);
  EXPECT_THAT(ExplainNoGpu(no_driver).why, HasSubstr("has no NVIDIA driver (libcuda.so.1)"));
}

TEST(ExplainNoGpu, AnOldDriverIsUnsupported) {
  CudaAnswer old = Answer(35, true);
  old.driver_version = 12020;
  EXPECT_FALSE(ExplainNoGpu(old).broken);
  EXPECT_EQ(ExplainNoGpu(old).why, "needs a driver for CUDA 13; this node's is for CUDA 12.2");
}

TEST(ExplainNoGpu, EveryFaultSaysWhatWouldBeRight) {
  const std::vector<std::pair<int, std::string>> cases = {
      {802, "systemctl status nvidia-fabricmanager"},
      {803, "reboot, or reload the module"},
      {804, "cuda-compat"},
      {34, "toolkit's stub"},
      {46, "exclusive mode"},
      {3, "fell off the bus"},
      {999, "Xid in dmesg"},
      {805, "nvidia-cuda-mps-control"},
      {809, "nvidia-cuda-mps-control"},
      {304, "see `nvidia-smi`"},
  };
  for (const auto& [error, words] : cases) {
    const GpuAbsence absence = ExplainNoGpu(Answer(error, true));
    EXPECT_TRUE(absence.broken) << error;
    EXPECT_THAT(absence.why, HasSubstr("CUDA cannot use this node's GPUs (cudaErrorName): "));
    EXPECT_THAT(absence.why, HasSubstr(words));
  }
  // Only a driver with GPUs says these.
  EXPECT_TRUE(ExplainNoGpu(Answer(802, false)).broken);
  EXPECT_TRUE(ExplainNoGpu(Answer(803, false)).broken);
}

TEST(ExplainNoGpu, ADriverWithoutItsLibrariesIsAFault) {
  CudaAnswer answer = Answer(35, true);
  answer.driver_version = 0;
  EXPECT_TRUE(ExplainNoGpu(answer).broken);
  EXPECT_THAT(ExplainNoGpu(answer).why, HasSubstr("libcuda.so.1 cannot be loaded: install"));
}

TEST(ExplainNoGpu, HiddenGpusAreNoFaultAndLostOnesAre) {
  CudaAnswer answer = Answer(100, true);
  for (const char* hides : {"", "-1", "NoDevFiles", "-1,0"}) {
    answer.visible_devices = hides;
    EXPECT_FALSE(ExplainNoGpu(answer).broken) << hides;
    EXPECT_THAT(ExplainNoGpu(answer).why, HasSubstr("hides all: unset it, or name some"));
  }
  for (const char* names : {"0", "7", "GPU-4b2c", "MIG-1"}) {
    answer.visible_devices = names;
    EXPECT_TRUE(ExplainNoGpu(answer).broken) << names;
    EXPECT_THAT(ExplainNoGpu(answer).why,
                HasSubstr("begins with no GPU that the driver finds; an agent names its job's"));
  }
  answer.visible_devices.reset();
  EXPECT_TRUE(ExplainNoGpu(answer).broken);
  EXPECT_THAT(ExplainNoGpu(answer).why, HasSubstr("the driver finds no GPU, though"));
  EXPECT_EQ(ExplainNoGpu(answer).why, ExplainNoGpu(Answer(0, true)).why);
}

}  // namespace
}  // namespace assay
