#include "common/host_port.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(ParseHostPort, SplitsAndChecks) {
  EXPECT_EQ(ParseHostPort("node-7:7901")->host, "node-7");
  EXPECT_EQ(ParseHostPort("[::1]:0")->host, "::1");
  EXPECT_EQ(ParseHostPort("[::1]:7900")->ToString(), "[::1]:7900");
  EXPECT_TRUE(ParseHostPort("127.1.2.3:1")->IsLoopback());
  EXPECT_FALSE(ParseHostPort("0.0.0.0:1")->IsLoopback());
  EXPECT_FALSE(ParseHostPort("127.example.com:1")->IsLoopback());
  for (const char* bad : {"", ":1", "host", "host:", "host:65536", "host:-1", "::1:7900", "[]:1"}) {
    EXPECT_FALSE(ParseHostPort(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace assay
