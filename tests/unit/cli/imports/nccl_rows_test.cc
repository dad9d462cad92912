// The columns of nccl-tests' rows: rounded as its versions round them they agree, changed
// they do not, and where they have lost their digits, bytes and time tell the bandwidth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "cli/imports/imports.h"
#include "tests/unit/cli/imports/files.h"
#include "tests/unit/cli/imports/nccl_output.h"

namespace assay::imports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Refusal(const std::string& text, const Origin& origin = {}) {
  const auto read = ReadNcclTests(text, origin);
  return read.ok() ? "taken" : read.status().message();
}

// 0 without such a metric.
double MedianOf(const v1::CaseResult& result, const std::string& metric) {
  for (const v1::Measurement& one : result.measurements()) {
    if (one.metric() == metric) return one.median();
  }
  return 0;
}

// As the truth, but for the rounding of what is printed.
void ExpectTruth(const v1::CaseResult& result, const NcclTruth& truth) {
  const double of_time = 0.0051 / truth.microseconds;
  const double relative = std::max({0.006, 1.1 * of_time, truth.microseconds > 9e6 ? 0.06 : 0.0});
  EXPECT_NEAR(MedianOf(result, "algorithm_bandwidth"), truth.algorithm, relative * truth.algorithm);
  // A single rank crosses no bus.
  const double bus = result.parameters().at("ranks") == "1" ? 0 : truth.bus;
  EXPECT_NEAR(MedianOf(result, "bus_bandwidth"), bus, relative * bus);
  EXPECT_NEAR(MedianOf(result, "time"), truth.microseconds * 1e-6,
              relative * truth.microseconds * 1e-6);
  for (const v1::Measurement& one : result.measurements()) {
    EXPECT_GT(one.median(), 0) << one.metric();
  }
}

// Every program, version of printing and number of ranks: none is refused.
TEST(NcclRowsTest, WhatNcclTestsPrintsAgrees) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> spread(-0.3, 7.4);  // 0.5 us to 25 s.
  for (const NcclProgram& program : kNcclPrograms) {
    for (const NcclStyle style : {NcclStyle::kFixed, NcclStyle::kByDigits, NcclStyle::kByWidth}) {
      for (const int ranks : {1, 2, 3, 7, 8, 16}) {
        std::vector<int64_t> sizes;
        std::vector<double> times;
        for (int64_t size = 0; size <= int64_t{16} << 30; size = size * 3 + 4) {
          sizes.push_back(size);
          for (int i = 0; i < 2; ++i) times.push_back(std::pow(10, spread(random)));
        }
        const NcclOutput output = NcclRunText(program, ranks, style, sizes, times);
        Origin origin;
        const std::string name = program.program;
        origin.collective = style != NcclStyle::kFixed ? ""
                            : name == "alltoall_perf"  ? "all_to_all"
                            : name == "sendrecv_perf"  ? "send_recv"
                                                       : name.substr(0, name.size() - 5);
        const auto read = ReadNcclTests(output.text, origin);
        ASSERT_TRUE(read.ok()) << read.status() << "\n" << output.text;
        size_t next = 0;
        for (const NcclTruth& truth : output.truth) {
          if (truth.bytes == 0) continue;
          ASSERT_LT(next, read->results.size());
          ExpectTruth(read->results[next++], truth);
        }
        EXPECT_EQ(next, read->results.size());
      }
    }
  }
}

TEST(NcclRowsTest, BandwidthsWithoutDigitsAreComputed) {
  const auto read = ReadNcclTests(kNcclText, {});
  ASSERT_TRUE(read.ok()) << read.status();
  // 8 bytes in 23.10 us, printed as 0.00; all_reduce of 4 ranks: 1.5 times as much.
  EXPECT_NEAR(MedianOf(read->results[0], "algorithm_bandwidth"), 8 / 23.10e-6 / 1e9, 1e-9);
  EXPECT_NEAR(MedianOf(read->results[0], "bus_bandwidth"), 1.5 * 8 / 23.10e-6 / 1e9, 1e-9);
  // 0.80 GB/s has two digits, 1.20 and all of 128 MiB have three: those stay as printed.
  EXPECT_NEAR(MedianOf(read->results[2], "algorithm_bandwidth"), 32768 / 40.96e-6 / 1e9, 1e-9);
  EXPECT_EQ(MedianOf(read->results[2], "bus_bandwidth"), 1.20);
  EXPECT_EQ(MedianOf(read->results[4], "algorithm_bandwidth"), 100);
  EXPECT_THAT(read->notes, ElementsAre(HasSubstr("of 3 results")));
  EXPECT_THAT(read->notes, ElementsAre(HasSubstr("computed from bytes and time")));
}

TEST(NcclRowsTest, OneRankHasNoBusBandwidth) {
  const NcclOutput output =
      NcclRunText(kNcclPrograms[1], 1, NcclStyle::kByDigits, {1 << 20}, {10, 10});
  const auto read = ReadNcclTests(output.text, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->results[0].measurements(0).metric(), "algorithm_bandwidth");
  EXPECT_EQ(read->results[0].measurements_size(), 2);
}

TEST(NcclRowsTest, RowsWithoutBytesAreLeftOut) {
  // 8 bytes are no element for each of 4 ranks.
  const auto of = [](const std::vector<int64_t>& sizes, const std::vector<double>& times) {
    return NcclRunText(kNcclPrograms[0], 4, NcclStyle::kByDigits, sizes, times).text;
  };
  const auto read = ReadNcclTests(of({8, 1024}, {0.001, 0.2, 5, 5}), {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->results.size(), 2U);
  EXPECT_THAT(read->notes, testing::Contains(HasSubstr("they move no bytes")));
  EXPECT_THAT(Refusal(of({8}, {0.2, 0.2})), HasSubstr("no row of the file moves a byte"));
}

TEST(NcclRowsTest, ColumnsThatContradictEachOtherAreRefused) {
  const std::string text = kNcclText;
  // The summary agrees with the changed row: the row itself does not.
  EXPECT_THAT(Refusal(Replaced(text, "          8192     float", "          8191     float")),
              HasSubstr("line 17: size is 32768 bytes, and count 8191 of 4 bytes (float) makes "
                        "32764"));
  EXPECT_THAT(Refusal(Replaced(text, "8192     float", "8192    double")),
              HasSubstr("makes 65536"));
  EXPECT_THAT(Refusal(Replaced(text, "   40.96 ", "   41.96 ")),
              HasSubstr("line 17: out of place, algbw is 0.8 GB/s, and 32768 bytes in 41.96 us are "
                        "0.780934 GB/s"));
  EXPECT_THAT(Refusal(Replaced(text, "  1.00    1.50", "  1.02    1.50")),
              HasSubstr("line 17: in place, algbw is 1.02"));
  const std::string bus = Replaced(Replaced(text, "  150.00 ", "  160.00 "), "52.95", "54.62");
  EXPECT_THAT(Refusal(bus), HasSubstr("line 19: out of place, busbw is 160 GB/s, and algbw 100 "
                                      "GB/s times 1.5 (all_reduce on 4 ranks) is 150 GB/s"));
  EXPECT_THAT(Refusal(Replaced(text, "  1342.2 ", "    0.00 ")), HasSubstr("a time of 0 us"));
  // A rank fewer: 4/3 instead of 3/2.
  const size_t rank = text.find("#  Rank  3");
  const size_t end = text.find('\n', rank) + 1;
  EXPECT_THAT(Refusal(text.substr(0, rank) + text.substr(end)), HasSubstr("on 3 ranks"));
  const std::string json = kNcclJson;
  EXPECT_THAT(Refusal(Replaced(json, "\"count\":128", "\"count\":127")),
              HasSubstr("result 2: size is 2048 bytes"));
  EXPECT_THAT(Refusal(Replaced(json, "\"alg_bw\":0.204800", "\"alg_bw\":0.204900")),
              HasSubstr("result 2: out of place, algbw"));
}

TEST(NcclRowsTest, TheWrongNameOfATestShowsInItsRows) {
  const NcclOutput output =
      NcclRunText(kNcclPrograms[0], 8, NcclStyle::kFixed, {1 << 20}, {10, 10});
  Origin origin;
  origin.collective = "all_reduce";
  EXPECT_THAT(Refusal(output.text, origin), HasSubstr("or the test is not all_reduce"));
}

}  // namespace
}  // namespace assay::imports
