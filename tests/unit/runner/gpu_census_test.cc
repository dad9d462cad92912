#include "runner/gpu_census.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Uuid(int index) { return "GPU-" + std::to_string(index); }
std::string Address(int index) { return "0A5D:" + std::to_string(10 + index) + ":00.0"; }

class GpuCensusTest : public ::testing::Test {
 protected:
  // A machine of four, of which CUDA offers some.
  GpuCensusTest() {
    for (int index = 0; index < 4; ++index) {
      NvmlGpu gpu;
      gpu.index = index;
      gpu.uuid = Uuid(index);
      gpu.pci_bus_id = "0000" + Address(index);
      machine_.listed.push_back({gpu, ""});
    }
  }
  void Offer(std::initializer_list<int> indices) {
    for (const int index : indices) {
      LocalGpu gpu;
      gpu.ordinal = static_cast<int>(offered_.size());
      gpu.uuid = Uuid(index);
      gpu.pci_bus_id = Address(index);
      offered_.push_back(gpu);
    }
  }
  GpuCensus Take() const { return TakeCensus(offered_, machine_, visible_); }

  std::vector<LocalGpu> offered_;
  MachineGpus machine_;
  std::optional<std::string> visible_;
};

TEST_F(GpuCensusTest, AllInWhateverOrderAreAll) {
  Offer({2, 3, 0, 1});
  EXPECT_EQ(Take().fault, "");
  EXPECT_THAT(Take().notes, IsEmpty());
  visible_ = "2,3,0,1";
  EXPECT_EQ(Take().fault, "");
  EXPECT_THAT(Take().notes, IsEmpty());
}

TEST_F(GpuCensusTest, AnyThatIsMissingIsNamed) {
  Offer({0, 1, 3});
  EXPECT_THAT(Take().fault,
              AllOf(HasSubstr("CUDA offers 3 of the 4 GPUs that NVML lists, not its GPU 2 "
                              "at 00000A5D:12:00.0: look at `nvidia-smi`"),
                    Not(HasSubstr("GPU 3"))));
  machine_.listed[2].lost = "GPU requires a reset";
  EXPECT_THAT(Take().fault, HasSubstr("GPU 2 at 00000A5D:12:00.0 (GPU requires a reset): look at"));
  machine_.listed[2] = {NvmlGpu(), "GPU is lost (fell off the bus)"};
  machine_.listed[2].described.index = 2;
  EXPECT_THAT(Take().fault, HasSubstr("not its GPU 2 (GPU is lost (fell off the bus)): "));
}

TEST_F(GpuCensusTest, AGpuWithoutAnAddressIsKnownByItsUuid) {
  Offer({0, 1, 2, 3});
  offered_[1].pci_bus_id = "";
  EXPECT_EQ(Take().fault, "");
}

TEST_F(GpuCensusTest, AMigInstanceIsItsGpu) {
  Offer({0, 1, 2, 3});
  offered_[1].uuid = "MIG-5";
  EXPECT_EQ(Take().fault, "");
  machine_.listed[2].described.mig_enabled = true;
  offered_.erase(offered_.begin() + 2);
  EXPECT_THAT(Take().fault, AllOf(HasSubstr("GPU 2 at 00000A5D:12:00.0 (MIG is on): "),
                                  HasSubstr("where MIG is on CUDA offers one instance")));
}

TEST_F(GpuCensusTest, WhatIsLeftOutOnPurposeIsCounted) {
  Offer({0, 1});
  for (const char* visible : {"0,1", "GPU-0,GPU-1", "0,1,-1,3", "0,1,"}) {
    visible_ = visible;
    EXPECT_EQ(Take().fault, "") << visible;
    EXPECT_THAT(Take().notes, ElementsAre("2 of the 4 GPUs that NVML lists, by "
                                          "CUDA_VISIBLE_DEVICES=\"" +
                                          *visible_ + "\""));
  }
}

TEST_F(GpuCensusTest, WhatIsAskedForAndNotOfferedIsAFault) {
  Offer({0, 1});
  for (const char* visible : {"0,1,9", "0,1,2", "GPU-0,GPU-1,GPU-9"}) {
    visible_ = visible;
    EXPECT_THAT(Take().fault, HasSubstr(std::string("CUDA_VISIBLE_DEVICES=\"") + visible +
                                        "\" names 3 GPUs and CUDA offers the first 2: compare it "
                                        "with `nvidia-smi -L`; it offers 2 of the 4 GPUs"));
  }
  machine_.listed.resize(2);
  EXPECT_THAT(Take().fault, HasSubstr("the first 2: compare it with `nvidia-smi -L`"));
}

TEST_F(GpuCensusTest, WithoutNvmlNothingIsKnown) {
  Offer({0});
  machine_ = {NotFound("no library", "NO_NVIDIA_DRIVER"), {}, {"0000:9b:00.0"}};
  EXPECT_EQ(Take().fault, "");
  EXPECT_THAT(Take().notes,
              ElementsAre("whether CUDA offers all GPUs could not be checked: no library"));
}

TEST_F(GpuCensusTest, OnesOnTheBusAloneAreTold) {
  Offer({0, 1, 2, 3});
  machine_.on_bus = {"0a5d:10:00.0", "0a5d:11:00.0", "0a5d:12:00.0", "0a5d:13:00.0",
                     "0a5d:99:00.0"};
  EXPECT_EQ(Take().fault, "");
  EXPECT_THAT(Take().notes, ElementsAre(HasSubstr("not in NVML's list: 0a5d:99:00.0 (in")));
}

}  // namespace
}  // namespace assay
