#include "common/units.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/host_port.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

TEST(ParseBytes, ReadsBinaryDecimalAndFractionalSizes) {
  EXPECT_EQ(*ParseBytes("0"), 0);
  EXPECT_EQ(*ParseBytes("4096"), 4096);
  EXPECT_EQ(*ParseBytes("4KiB"), 4096);
  EXPECT_EQ(*ParseBytes(" 1 GiB "), int64_t{1} << 30);
  EXPECT_EQ(*ParseBytes("1mb"), 1000'000);
  EXPECT_EQ(*ParseBytes("1.5KiB"), 1536);
  EXPECT_EQ(*ParseBytes("9223372036854775807"), INT64_MAX);
}

TEST(ParseBytes, RefusesMalformedAndTooLargeSizes) {
  for (const char* bad : {"", "-1", "GiB", "1 GiBs", "0.3B", "1e9", "nan", "inf",
                          "9223372036854775808", "99999999TiB", "4096x"}) {
    EXPECT_FALSE(ParseBytes(bad).ok()) << bad;
  }
}

TEST(FormatBytes, IsTheInverseOfParse) {
  for (int64_t bytes : {int64_t{0}, int64_t{8}, int64_t{1023}, int64_t{1024}, int64_t{1000'000},
                        int64_t{1} << 33, int64_t{98'432}, INT64_MAX}) {
    EXPECT_EQ(*ParseBytes(FormatBytes(bytes)), bytes) << FormatBytes(bytes);
  }
  EXPECT_EQ(FormatBytes(int64_t{1} << 30), "1GiB");
  EXPECT_EQ(FormatBytes(1000'000), "1MB");
}

TEST(NumberText, KeepsTheDigitsOfSmallNumbers) {
  EXPECT_EQ(NumberText(6.1035e-5), "6.104e-05");
  EXPECT_EQ(NumberText(0.25), "0.25");
  EXPECT_EQ(NumberText(123456.789, 9), "123456.789");
  EXPECT_EQ(NumberText(std::nan("")), "nan");
}

TEST(ApproximateBytes, IsOneDigitOfTheLargestUnit) {
  EXPECT_EQ(ApproximateBytes(1023), "1023 B");
  EXPECT_EQ(ApproximateBytes(3 << 29), "1.5 GiB");
}

TEST(ParseDuration, ReadsCompoundTimesAndRequiresUnits) {
  EXPECT_EQ(*ParseDuration("250ms"), 250ms);
  EXPECT_EQ(*ParseDuration("1h30m"), 90min);
  EXPECT_EQ(*ParseDuration("1.5s"), 1500ms);
  for (const char* bad : {"", "20", "m", "-3s", "3 parsecs", "1h30"}) {
    EXPECT_FALSE(ParseDuration(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace assay
