#include "host/rental.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/temporary_folder.h"

namespace assay {
namespace {

class RentalTest : public ::testing::Test {
 protected:
  Rental Detect() {
    return DetectRental(
        [this](const char* name) {
          const auto found = variables_.find(name);
          return found == variables_.end() ? nullptr : found->second.c_str();
        },
        folder_.path());
  }

  void Write(const std::string& path, const std::string& content) {
    const std::filesystem::path file = folder_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
  }

  TemporaryFolder folder_;
  std::map<std::string, std::string> variables_;
};

TEST_F(RentalTest, UnknownMachineHasNoProvider) {
  variables_["CONTAINER_ID"] = "7";
  Write("/sys/class/dmi/id/sys_vendor", "QEMU\n");
  EXPECT_EQ(Detect().provider, "");
  EXPECT_EQ(Detect().instance, "");
}

TEST_F(RentalTest, RunPod_FromPidOne) {
  Write("/proc/1/environ", std::string("PATH=/bin\0RUNPOD_API_KEY=secret\0RUNPOD_POD_ID=abc12\0"
                                       "RUNPOD_DC_ID=EU-RO-1\0",
                                       74));
  const Rental rental = Detect();
  EXPECT_EQ(rental.provider, "runpod");
  EXPECT_EQ(rental.region, "EU-RO-1");
  EXPECT_EQ(rental.instance, "abc12");
}

TEST_F(RentalTest, Vast_FromTheProcess) {
  variables_["VAST_CONTAINERLABEL"] = "C.1234";
  Write("/proc/1/environ", std::string("VAST_CONTAINERLABEL=C.5\0", 24));
  EXPECT_EQ(Detect().provider, "vast");
  EXPECT_EQ(Detect().instance, "C.1234");
  variables_ = {{"CONTAINER_ID", "9"}, {"PUBLIC_IPADDR", "192.0.2.1"}};
  Write("/proc/1/environ", "");
  EXPECT_EQ(Detect().provider, "vast");
  EXPECT_EQ(Detect().instance, "C.9");
}

TEST_F(RentalTest, MalformedValuesAreIgnored) {
  variables_["RUNPOD_POD_ID"] = "\x1b[31m";
  EXPECT_EQ(Detect().provider, "");
  variables_["RUNPOD_POD_ID"] = std::string(10'000, 'x');
  EXPECT_EQ(Detect().provider, "");
}

TEST_F(RentalTest, CloudsAreKnownByTheFirmware) {
  Write("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
  EXPECT_EQ(Detect().provider, "aws");
  Write("/sys/class/dmi/id/sys_vendor", "Google\n");
  Write("/sys/class/dmi/id/product_name", "Google Compute Engine\n");
  EXPECT_EQ(Detect().provider, "gcp");
}

}  // namespace
}  // namespace assay
