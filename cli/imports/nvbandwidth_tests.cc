// Names from testcase.h of nvbandwidth 0.2 to 0.8 and from what 0.10 lists (-l).
#include "cli/imports/nvbandwidth_tests.h"

#include <algorithm>
#include <array>
#include <vector>

#include "model/parameter.h"

namespace assay::imports {
namespace {

constexpr std::array<std::string_view, 17> kHostTests = {
    "host_to_device_memcpy_ce",
    "device_to_host_memcpy_ce",
    "host_to_device_bidirectional_memcpy_ce",
    "device_to_host_bidirectional_memcpy_ce",
    "all_to_host_memcpy_ce",
    "all_to_host_bidirectional_memcpy_ce",
    "host_to_all_memcpy_ce",
    "host_to_all_bidirectional_memcpy_ce",
    "host_to_device_memcpy_sm",
    "device_to_host_memcpy_sm",
    "host_to_device_bidirectional_memcpy_sm",
    "device_to_host_bidirectional_memcpy_sm",
    "all_to_host_memcpy_sm",
    "all_to_host_bidirectional_memcpy_sm",
    "host_to_all_memcpy_sm",
    "host_to_all_bidirectional_memcpy_sm",
    "host_device_latency_sm",
};

constexpr std::array<std::string_view, 35> kPeerTests = {
    "device_to_device_memcpy_read_ce",
    "device_to_device_memcpy_write_ce",
    "device_to_device_bidirectional_memcpy_read_ce",
    "device_to_device_bidirectional_memcpy_write_ce",
    "all_to_one_write_ce",
    "all_to_one_read_ce",
    "one_to_all_write_ce",
    "one_to_all_read_ce",
    "device_to_device_memcpy_read_sm",
    "device_to_device_memcpy_write_sm",
    "device_to_device_bidirectional_memcpy_read_sm",
    "device_to_device_bidirectional_memcpy_write_sm",
    "all_to_one_write_sm",
    "all_to_one_read_sm",
    "one_to_all_write_sm",
    "one_to_all_read_sm",
    "device_to_device_latency_sm",
    "device_to_device_memcpy_read_tma",
    "device_to_device_memcpy_write_tma",
    "device_to_device_bidirectional_memcpy_read_tma",
    "device_to_device_bidirectional_memcpy_write_tma",
    "device_to_device_latency_tma",
    "multinode_device_to_device_memcpy_read_ce",
    "multinode_device_to_device_memcpy_write_ce",
    "multinode_device_to_device_bidirectional_memcpy_read_ce",
    "multinode_device_to_device_bidirectional_memcpy_write_ce",
    "multinode_device_to_device_memcpy_read_sm",
    "multinode_device_to_device_memcpy_write_sm",
    "multinode_device_to_device_bidirectional_memcpy_read_sm",
    "multinode_device_to_device_bidirectional_memcpy_write_sm",
    "multinode_device_to_device_all_to_one_write_sm",
    "multinode_device_to_device_all_from_one_read_sm",
    "multinode_device_to_device_broadcast_one_to_all_sm",
    "multinode_device_to_device_broadcast_all_to_all_sm",
    "multinode_bisect_write_ce",
};

constexpr std::array<std::string_view, 5> kLocalTests = {
    "device_local_copy",     "device_local_copy_sm",  "device_local_read_sm",
    "device_local_write_sm", "device_local_copy_tma",
};

template <size_t kCount>
bool Has(const std::array<std::string_view, kCount>& tests, std::string_view test) {
  return std::find(tests.begin(), tests.end(), test) != tests.end();
}

}  // namespace

NvbandwidthKind KindOf(std::string_view test) {
  if (Has(kHostTests, test)) return NvbandwidthKind::kHost;
  if (Has(kPeerTests, test)) return NvbandwidthKind::kPeer;
  return Has(kLocalTests, test) ? NvbandwidthKind::kLocal : NvbandwidthKind::kUnknown;
}

std::string ClosestTest(std::string_view test) {
  std::vector<std::string> names(kHostTests.begin(), kHostTests.end());
  names.insert(names.end(), kPeerTests.begin(), kPeerTests.end());
  names.insert(names.end(), kLocalTests.begin(), kLocalTests.end());
  return ClosestName(test, names);
}

}  // namespace assay::imports
