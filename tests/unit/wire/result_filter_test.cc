#include "wire/result_filter.h"

#include <gtest/gtest.h>

#include "tests/wording.h"
#include "wire/result_flags.h"
#include "wire/timestamps.h"

namespace assay::schema {
namespace {

std::string ErrorOf(const std::string& filter) {
  return ParseResultFilter(filter).status().ToString() + "\n";
}

// Returns the field that the error's hint proposes; empty if there is none.
std::string Proposed(const std::string& filter) {
  const std::string hint = ParseResultFilter(filter).status().hint();
  const size_t begin = hint.find('`') + 1;
  return hint.substr(begin, hint.rfind('`') - begin);
}

TEST(ResultFilter, ErrorsSayWhatIsWrongAndWhatWouldBeRight) {
  EXPECT_WORDING("wire/result-filter",
                 ErrorOf("gpu.modle = H200") + ErrorOf("nccl_variables.NCCL_PROTOS = LL") +
                     ErrorOf("n = 8192") + ErrorOf("sm_clock_mhz > 1000") +
                     ErrorOf("parameters = 1") + ErrorOf("median = fast") +
                     ErrorOf("parameters.bytes < 1Mi") + ErrorOf("driver >= r580") +
                     ErrorOf("kernel >= 6.11") + ErrorOf("regime = memry") +
                     ErrorOf("flag = noisy") + ErrorOf("flag = dusty"));
}

TEST(ResultFilter, ChecksValuesByType) {
  for (const char* bad :
       {"median = fast", "median : 1", "gpu.count > 0x10", "simulated = yes", "simulated > true",
        "time > tomorrow", "time > -", "time > -12", "time > --1h", "time > -1e9d", "time > now()",
        "time > 2026-02-30", "median = nan", "price_per_hour < 1e999", "median = ''"}) {
    EXPECT_FALSE(ParseResultFilter(bad).ok()) << bad;
  }
  for (const char* good :
       {"median >= 1.5e3", "price_per_hour : *", "simulated = true", "parameters.m = 1",
        "time > 2026-01-31", "time < 2026-01-31T08:00:00.5Z"}) {
    EXPECT_TRUE(ParseResultFilter(good).ok()) << good;
  }
}

TEST(ResultFilter, UnknownFieldHintsAtTheClosest) {
  for (const auto& [typed, meant] :
       {std::pair("nccl_variable.NCCL_ALGO", "nccl_variables.NCCL_ALGO"),
        {"nccl.NCCL_ALGO", "nccl_variables.NCCL_ALGO"},
        {"NCCL_ALGO", "nccl_variables.NCCL_ALGO"},
        {"nccl.ALGO", "nccl_variables.NCCL_ALGO"},
        {"nccl_variables.NCCL_ALG", "nccl_variables.NCCL_ALGO"},
        {"NCCL_IB_DISABL", "nccl_variables.NCCL_IB_DISABLE"},
        {"nccl_variables.HOSTID", "nccl_variables.NCCL_HOSTID"},
        {"drivers", "driver"},
        {"paramters.bytes", "parameters.bytes"},
        {"bytes", "parameters.bytes"},
        {"nodes", "parameters.nodes"}}) {
    const std::string filter = std::string(typed) + " = 1";
    EXPECT_EQ(ParseResultFilter(filter).status().reason(), Reason::kUnknownField) << typed;
    EXPECT_EQ(Proposed(filter), meant) << typed;
  }
  EXPECT_EQ(Proposed("somewhere.else = 1"), "");
  EXPECT_EQ(Proposed("nodes = g3"), "node");
  EXPECT_EQ(Proposed("bytes < 1MiB"), "parameters.bytes");
}

TEST(ResultFilter, SizesOfParametersAreReadAsNumbers) {
  for (const auto& [typed, number] : {std::pair("< 1MiB", "1048576"),
                                      {">= \"1.5 kib\"", "1536"},
                                      {"<= 1GB", "1000000000"},
                                      {"> 4096", "4096"},
                                      {"< 0.5", "5.00000000000000000e-01"}}) {
    for (const char* field : {"parameters.bytes ", "nccl_variables.NCCL_BUFFSIZE "}) {
      const auto filter = ParseResultFilter(field + std::string(typed) + " AND imported : *");
      ASSERT_TRUE(filter.ok()) << filter.status();
      const Filter* order = &*filter;
      while (order->kind == Filter::Kind::kAnd) order = order->children.data();
      EXPECT_EQ(order->value, number) << typed;
      EXPECT_TRUE(order->numbers_only) << typed;
    }
  }
}

TEST(ResultFilter, OrderAgainstAValueWithoutOrderIsRefused) {
  for (const char* bad :
       {"parameters.bytes < 1Mi", "parameters.bytes >= 4k", "parameters.dtype > fp16",
        "parameters.m < 0x10", "parameters.m < 1e99", "parameters.m < 1*",
        "nccl_variables.NCCL_BUFFSIZE < many", "driver >= r580", "cuda < 1MiB", "nccl > \"2.28 \"",
        "kernel >= 6.11", "blas > \"x\""}) {
    EXPECT_EQ(ParseResultFilter(bad).status().reason(), Reason::kBadFilter) << bad;
  }
  for (const char* good :
       {"driver >= 580.95.05", "benchmark < h", "campaign >= a", "kernel = 6.8*",
        "parameters.dtype = fp16", "parameters.dtype : 1Mi", "agent_version >= 0.1"}) {
    EXPECT_TRUE(ParseResultFilter(good).ok()) << good;
  }
}

TEST(ResultFilter, HintForNamesWithAVersionMatches) {
  v1::StoredResult record;
  record.set_primary(true);
  v1::CaseResult& result = *record.mutable_case_result();
  result.mutable_provenance()->set_kernel("6.8.0-45-generic");
  result.mutable_environment()->mutable_software()->set_blas("OpenBLAS 0.3.21 SkylakeX");
  for (const std::string field : {"kernel", "blas"}) {
    const auto example = ParseResultFilter(Proposed(field + " < 7"));
    ASSERT_TRUE(example.ok()) << example.status();
    const auto found = MatchesResult(*example, record);
    EXPECT_TRUE(found.ok() && *found) << field;
  }
}

TEST(ResultFilter, UnknownWordIsRefused) {
  for (const char* bad :
       {"outcome = oops", "outcome != OK", "benchmark = x AND NOT regime = bogus", "cache = warm",
        "NOT flag = throttling_before", "flag != T", "stop_reason = noise", "flag = dusty"}) {
    EXPECT_EQ(ParseResultFilter(bad).status().reason(), Reason::kBadFilter) << bad;
  }
  for (const char* good : {"flag = throttled", "flag : dusty", "flag = throt*", "flag : *",
                           "outcome = ok", "regime : *", "regime = comp*", "regime : lau",
                           "regime = *", "stop_reason != confidence", "uncertainty > 2.5e-2"}) {
    EXPECT_TRUE(ParseResultFilter(good).ok()) << good;
  }
}

TEST(ResultFilter, FiltersOfOtherDoubtsAreValid) {
  for (const auto& [doubt, filter] : kOtherDoubts) {
    EXPECT_TRUE(ParseResultFilter(filter).ok()) << doubt;
  }
}

TEST(ResultFilter, TimesMayBeRelative) {
  const WallTime now = *ParseTime("2026-11-21T08:30");
  for (const auto& [typed, meant] : {std::pair("-12h", "2026-11-20T20:30"),
                                     {"-1h30m", "2026-11-21T07:00"},
                                     {"-7d", "2026-11-14T08:30"},
                                     {"today", "2026-11-21"},
                                     {"yesterday", "2026-11-20"},
                                     {"-40000d", "1970-01-01"},
                                     {"2026-11-20", "2026-11-20"}}) {
    const auto time = ParseTimeAt(typed, now);
    ASSERT_TRUE(time.ok()) << typed << time.status();
    EXPECT_EQ(*time, *ParseTime(meant)) << typed;
    const auto filter = ParseResultFilter("end_time > " + std::string(typed), now);
    const auto same = ParseResultFilter("end_time > " + std::string(meant), now);
    ASSERT_TRUE(filter.ok() && same.ok()) << typed;
    const Filter* relative = &*filter;
    const Filter* absolute = &*same;
    while (relative->kind == Filter::Kind::kAnd) relative = relative->children.data();
    while (absolute->kind == Filter::Kind::kAnd) absolute = absolute->children.data();
    EXPECT_EQ(relative->value, absolute->value) << typed;
  }
}

TEST(ParseTime, ReadsDatesAndTimesOnly) {
  EXPECT_EQ(SecondsSince1970(*ParseTime("2026-01-01")), 1'767'225'600);
  EXPECT_EQ(SecondsSince1970(*ParseTime("2026-01-01T00:01Z")), 1'767'225'660);
  EXPECT_EQ(SecondsSince1970(*ParseTime("2026-01-01T00:00:01.25")), 1'767'225'601.25);
  for (const char* bad : {"", "2026", "2026-13-01", "2026-01-01T", "2026-01-01T24:00",
                          "2026-01-01T00:00:00.", "2026-01-01 00:00", "9999-01-01"}) {
    EXPECT_FALSE(ParseTime(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace assay::schema
