#include "agent/core/advertise_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::agent {
namespace {

using ::testing::HasSubstr;

TEST(AdvertiseAddressTest, AnAddressThatRanksCannotListenOnIsRefused) {
  EXPECT_TRUE(CheckAdvertiseAddress("127.0.0.1").ok());
  // An address reserved for documentation (RFC 5737), which no machine has.
  const Status other = CheckAdvertiseAddress("192.0.2.1");
  EXPECT_EQ(other.code(), Code::kInvalidArgument);
  EXPECT_EQ(other.message(), "--advertise-address 192.0.2.1: is not this machine's");
  EXPECT_THAT(other.hint(), HasSubstr("an address of one of this machine's interfaces"));
  EXPECT_THAT(CheckAdvertiseAddress("no address").message(),
              HasSubstr("--advertise-address no address: "));
  for (const char* every : {"0.0.0.0", "::"}) {
    EXPECT_THAT(CheckAdvertiseAddress(every).message(), HasSubstr("is every address"));
  }
}

}  // namespace
}  // namespace assay::agent
