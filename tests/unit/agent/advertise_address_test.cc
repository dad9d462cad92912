#include "agent/core/advertise_address.h"

#include <gtest/gtest.h>

#include "tests/wording.h"

namespace assay::agent {
namespace {

TEST(AdvertiseAddressTest, AddressThatRanksCannotListenOnIsRefused) {
  EXPECT_TRUE(CheckAdvertiseAddress("127.0.0.1").ok());
  // 192.0.2.1 is reserved for documentation (RFC 5737), so no machine has it.
  for (const char* address : {"192.0.2.1", "no address", "0.0.0.0", "::"}) {
    EXPECT_EQ(CheckAdvertiseAddress(address).reason(), Reason::kListenFailed) << address;
  }
  EXPECT_WORDING("agent/advertise-address-foreign", CheckAdvertiseAddress("192.0.2.1").ToString());
  EXPECT_WORDING("agent/advertise-address-every", CheckAdvertiseAddress("::").message());
}

}  // namespace
}  // namespace assay::agent
