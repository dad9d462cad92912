#include "host/pci.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"

namespace assay {
namespace {

// A /sys with functions below the ports of a root bus.
class PciTest : public ::testing::Test {
 protected:
  void Add(const std::string& ports, const std::string& name, const std::string& node) {
    const std::string device = sys() + "/devices/pci0000:15/" + ports + name;
    std::filesystem::create_directories(device);
    std::filesystem::create_directories(sys() + "/bus/pci/devices");
    std::filesystem::create_symlink(device, sys() + "/bus/pci/devices/" + name);
    std::ofstream(device + "/numa_node") << node << "\n";
    std::ofstream(device + "/local_cpulist") << "0-47,96-143\n";
  }
  const std::string& sys() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

TEST_F(PciTest, SysfsName_IsTheKernelsSpelling) {
  EXPECT_EQ(SysfsPciName("00000000:F3:00.0"), "0000:f3:00.0");
  EXPECT_EQ(SysfsPciName("0000:F3:00.0"), "0000:f3:00.0");
  EXPECT_EQ(SysfsPciName("00010000:F3:00.0"), "00010000:f3:00.0");
}

TEST_F(PciTest, Place_HasTheSwitchAboveTheFunction) {
  Add("0000:15:01.0/0000:16:00.0/0000:17:02.0/", "0000:18:00.0", "1");
  const PciPlace place = ReadPciPlace("00000000:18:00.0", sys());
  EXPECT_EQ(place.root_port, "0000:15:01.0");
  EXPECT_EQ(place.pcie_switch, "0000:16:00.0");
  EXPECT_EQ(place.numa_node, 1);
  EXPECT_EQ(place.cpus, "0-47,96-143");
}

TEST_F(PciTest, NestedSwitches_GiveTheNearest) {
  Add("0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:18:00.0/0000:19:01.0/", "0000:1a:00.0", "0");
  EXPECT_EQ(ReadPciPlace("0000:1A:00.0", sys()).pcie_switch, "0000:18:00.0");
}

TEST_F(PciTest, WithoutASwitch_ThereIsOnlyTheRootPort) {
  Add("0000:15:01.0/", "0000:18:00.0", "-1");
  const PciPlace place = ReadPciPlace("0000:18:00.0", sys());
  EXPECT_EQ(place.root_port, "0000:15:01.0");
  EXPECT_EQ(place.pcie_switch, "");
  EXPECT_EQ(place.numa_node, std::nullopt);
}

TEST_F(PciTest, OnARootBus_ThereIsNoPort) {
  Add("", "0000:00:05.0", "-1");
  EXPECT_EQ(ReadPciPlace("0000:00:05.0", sys()).root_port, "");
  EXPECT_EQ(ReadPciPlace("0000:99:00.0", sys()).cpus, "");
}

TEST_F(PciTest, GpusOnBus_LeavesOutOtherDriversAndVirtualFunctions) {
  const auto add = [&](const std::string& name, const std::string& vendor, const std::string& kind,
                       const std::string& driver) {
    Add("", name, "0");
    std::string folder = sys() + "/bus/pci/devices/" + name;
    std::ofstream(folder + "/vendor") << vendor << "\n";
    std::ofstream(folder + "/class") << kind << "\n";
    if (!driver.empty()) {
      std::filesystem::create_symlink("../../../bus/pci/drivers/" + driver, folder + "/driver");
    }
    return folder;
  };
  add("0000:9b:00.0", "0x10de", "0x030200", "nvidia");
  add("0000:1b:00.0", "0x10de", "0x030000", "");
  add("0000:1b:00.1", "0x10de", "0x040300", "snd_hda_intel");
  add("0000:05:00.0", "0x10de", "0x068000", "");  // An NVSwitch.
  add("0000:06:00.0", "0x1a03", "0x030000", "");
  add("0000:2a:00.0", "0x10de", "0x030200", "vfio-pci");
  const std::string part = add("0000:9b:00.4", "0x10de", "0x030200", "nvidia");
  std::filesystem::create_symlink("../0000:9b:00.0", part + "/physfn");
  EXPECT_EQ(NvidiaGpusOnBus(sys()), (std::vector<std::string>{"0000:1b:00.0", "0000:9b:00.0"}));
  EXPECT_TRUE(NvidiaGpusOnBus(sys() + "/absent").empty());
}

}  // namespace
}  // namespace assay
