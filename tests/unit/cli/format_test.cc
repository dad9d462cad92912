#include "cli/views/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay::cli {
namespace {

TEST(FormatQuantity, ReadableValues_KeepTheirUnit) {
  EXPECT_EQ(FormatQuantity(712.34, "TFLOP/s").ToString(), "712.3 TFLOP/s");
  EXPECT_EQ(FormatQuantity(4701.6, "GB/s").ToString(), "4702 GB/s");
  EXPECT_EQ(FormatQuantity(0.25, "s").ToString(), "0.2500 s");
  EXPECT_EQ(FormatQuantity(3.14159, "widgets").ToString(), "3.142 widgets");
  EXPECT_EQ(FormatQuantity(0, "GB/s").ToString(), "0 GB/s");
}

TEST(FormatQuantity, OtherValues_GetAPrefix) {
  EXPECT_EQ(FormatQuantity(4.1e-6, "s").ToString(), "4.100 us");
  EXPECT_EQ(FormatQuantity(0.00031, "GB/s").ToString(), "310.0 kB/s");
  EXPECT_EQ(FormatQuantity(23456, "GFLOP/s").ToString(), "23.46 TFLOP/s");
  EXPECT_EQ(FormatQuantity(-0.002, "s").ToString(), "-2.000 ms");
  EXPECT_EQ(FormatQuantity(54321, "s").ToString(), "54321 s");
  EXPECT_EQ(FormatQuantity(0.001, "widgets").ToString(), "0.001000 widgets");
}

TEST(FormatNumber, Counts_HaveNoTrailingZeros) {
  EXPECT_EQ(FormatQuantity(3, "segments").ToString(), "3 segments");
  EXPECT_EQ(FormatQuantity(12.5, "segments").ToString(), "12.5 segments");
  EXPECT_EQ(FormatQuantity(120, "segments").ToString(), "120 segments");
  EXPECT_EQ(FormatQuantity(123456, "segments").ToString(), "123456 segments");
  EXPECT_EQ(FormatQuantity(0.5, "segments").ToString(), "0.5 segments");
  EXPECT_EQ(FormatQuantity(3, "s").ToString(), "3.000 s");
}

TEST(FormatQuantity, InfinityAndNan_AreNamed) {
  EXPECT_EQ(FormatQuantity(std::nan(""), "GB/s").number, "nan");
  EXPECT_EQ(FormatQuantity(std::numeric_limits<double>::infinity(), "GB/s").number, "inf");
  EXPECT_EQ(FormatSignificant(std::numeric_limits<double>::max(), 4).size(), 309u);
  EXPECT_EQ(FormatPercent(1, 0), "");
  EXPECT_EQ(FormatPercent(std::nan(""), 1), "");
}

TEST(FormatExact, Text_ReadsBackAsTheSameNumber) {
  for (const double value : {0.1, 1.0 / 3, 712.3456789012345, 1e300, 2.5e-300, 0.0}) {
    EXPECT_EQ(std::stod("0" + FormatExact(value)), value);
  }
}

TEST(FormatPercent, SmallAndLargeValues_HaveTheRightDecimals) {
  EXPECT_EQ(FormatPercent(0.5, 100), "0.50");
  EXPECT_EQ(FormatPercent(9.949, 100), "9.95");
  EXPECT_EQ(FormatPercent(12.3, 100), "12");
}

TEST(FormatTime, UnsetTime_IsEmpty) {
  google::protobuf::Timestamp time;
  EXPECT_EQ(FormatTimeExact(time), "");
  time.set_seconds(1'700'000'000);
  time.set_nanos(120'000'000);
  EXPECT_EQ(FormatTimeExact(time), "2023-11-14T22:13:20.120Z");
  time.set_seconds(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(FormatTimeExact(time), "");
  EXPECT_EQ(FormatTime(time), "");
}

}  // namespace
}  // namespace assay::cli
