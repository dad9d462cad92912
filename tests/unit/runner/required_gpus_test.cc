#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/node_fault.h"
#include "tests/wording.h"

namespace assay {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Uuid(int index) { return "GPU-" + std::to_string(index); }
std::string Address(int index) { return "0A5D:" + std::to_string(10 + index) + ":00.0"; }

class RequiredGpusTest : public ::testing::Test {
 protected:
  // A machine with four GPUs, some of which CUDA offers (Offer).
  RequiredGpusTest() {
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
  RequiredGpus Check() const { return CheckRequiredGpus(offered_, machine_, visible_); }

  std::vector<LocalGpu> offered_;
  MachineGpus machine_;
  std::optional<std::string> visible_;
};

TEST_F(RequiredGpusTest, OrderOfGpusDoesNotMatter) {
  Offer({2, 3, 0, 1});
  EXPECT_EQ(Check().missing, "");
  EXPECT_THAT(Check().notes, IsEmpty());
  visible_ = "2,3,0,1";
  EXPECT_EQ(Check().missing, "");
  EXPECT_THAT(Check().notes, IsEmpty());
}

TEST_F(RequiredGpusTest, MissingGpuIsNamedWithItsState) {
  Offer({0, 1, 3});
  EXPECT_NE(Check().missing, "");
  machine_.listed[2].lost = "GPU requires a reset";
  EXPECT_WORDING("runner/missing-gpu", Check().missing);
  machine_.listed[2] = {NvmlGpu(), "GPU is lost (fell off the bus)"};
  machine_.listed[2].described.index = 2;
  EXPECT_WORDING("runner/missing-gpu-without-address", Check().missing);
}

TEST_F(RequiredGpusTest, GpuWithoutAnAddressIsKnownByItsUuid) {
  Offer({0, 1, 2, 3});
  offered_[1].pci_bus_id = "";
  EXPECT_EQ(Check().missing, "");
}

TEST_F(RequiredGpusTest, MigInstanceCountsAsItsGpu) {
  Offer({0, 1, 2, 3});
  offered_[1].uuid = "MIG-5";
  EXPECT_EQ(Check().missing, "");
  machine_.listed[2].described.mig_enabled = true;
  offered_.erase(offered_.begin() + 2);
  EXPECT_WORDING("runner/missing-mig-gpu", Check().missing);
}

TEST_F(RequiredGpusTest, GpusThatTheUserHidesAreCountedButNotMissing) {
  Offer({0, 1});
  for (const char* visible : {"0,1", "GPU-0,GPU-1", "0,1,-1,3", "0,1,"}) {
    visible_ = visible;
    EXPECT_EQ(Check().missing, "") << visible;
    EXPECT_THAT(Check().notes, SizeIs(1));
  }
}

TEST_F(RequiredGpusTest, GpuThatTheUserNamesAndCudaDoesNotOfferIsMissing) {
  Offer({0, 1});
  for (const char* visible : {"0,1,9", "0,1,2", "GPU-0,GPU-1,GPU-9"}) {
    visible_ = visible;
    EXPECT_NE(Check().missing, "") << visible;
  }
  EXPECT_WORDING("runner/missing-visible-gpu", Check().missing);
  machine_.listed.resize(2);
  EXPECT_NE(Check().missing, "");
}

TEST_F(RequiredGpusTest, WithoutNvmlNothingIsMissing) {
  Offer({0});
  machine_ = {NotFound("no library", Reason::kNoNvidiaDriver), {}, {"0000:9b:00.0"}};
  EXPECT_EQ(Check().missing, "");
  EXPECT_THAT(Check().notes, SizeIs(1));
}

TEST_F(RequiredGpusTest, GpuOnTheBusAloneIsNotedWithItsAddress) {
  Offer({0, 1, 2, 3});
  machine_.on_bus = {"0a5d:10:00.0", "0a5d:11:00.0", "0a5d:12:00.0", "0a5d:13:00.0",
                     "0a5d:99:00.0"};
  EXPECT_EQ(Check().missing, "");
  ASSERT_THAT(Check().notes, SizeIs(1));
  EXPECT_WORDING("runner/gpu-on-bus-alone", Check().notes[0]);
}

}  // namespace
}  // namespace assay
