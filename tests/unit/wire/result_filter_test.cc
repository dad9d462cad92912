#include "wire/result_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/result_flags.h"
#include "wire/timestamps.h"

namespace assay::schema {
namespace {

using ::testing::HasSubstr;

TEST(ResultFilter, NamesUnknownFieldsAndListsTheKnown) {
  const Status error = ParseResultFilter("gpu.modle=\"H200\"").status();
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr("gpu.modle"));
  EXPECT_THAT(error.message(), HasSubstr("driver"));
  EXPECT_THAT(error.hint(), HasSubstr("gpu.model"));
  EXPECT_THAT(error.message(), HasSubstr("parameters.NAME, "));
  const Status variable = ParseResultFilter("nccl_variables.NCCL_PROTOS = LL").status();
  EXPECT_EQ(variable.reason(), Reason::kUnknownField);
  EXPECT_THAT(variable.message(), HasSubstr("NCCL variable `NCCL_PROTOS`"));
  EXPECT_THAT(variable.hint(), HasSubstr("nccl_variables.NCCL_PROTO`"));
}

TEST(ResultFilter, ChecksValuesByType) {
  for (const char* bad : {"median = fast", "median : 1", "gpu.count > 0x10", "simulated = yes",
                          "simulated > true", "time > yesterday", "time > 2026-02-30",
                          "median = nan", "price_per_hour < 1e999", "median = ''"}) {
    EXPECT_FALSE(ParseResultFilter(bad).ok()) << bad;
  }
  for (const char* good :
       {"median >= 1.5e3", "price_per_hour : *", "simulated = true", "parameters.m = 1",
        "time > 2026-01-31", "time < 2026-01-31T08:00:00.5Z"}) {
    EXPECT_TRUE(ParseResultFilter(good).ok()) << good;
  }
}

TEST(ResultFilter, GuessesTheFieldThatWasMeant) {
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
    const Status error = ParseResultFilter(std::string(typed) + " = 1").status();
    EXPECT_EQ(error.reason(), Reason::kUnknownField) << typed;
    EXPECT_EQ(error.hint(), "did you mean `" + std::string(meant) + "`?") << typed;
  }
  EXPECT_EQ(ParseResultFilter("somewhere.else = 1").status().hint(), "");
  EXPECT_EQ(ParseResultFilter("nodes = g3").status().hint(), "did you mean `node`?");
  EXPECT_EQ(ParseResultFilter("bytes < 1MiB").status().hint(), "did you mean `parameters.bytes`?");
}

TEST(ResultFilter, ReadsSizesOfParametersAsTheirNumbers) {
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

TEST(ResultFilter, RefusesAnOrderThatWouldBeOneOfTexts) {
  for (const auto& [bad, hint] : {std::pair("parameters.bytes < 1Mi", "1MiB"),
                                  {"parameters.bytes >= 4k", "64KiB"},
                                  {"parameters.dtype > fp16", "words have no order"},
                                  {"parameters.m < 0x10", "4096"},
                                  {"parameters.m < 1e99", "4096"},
                                  {"parameters.m < 1*", "4096"},
                                  {"nccl_variables.NCCL_BUFFSIZE < many", "4096"},
                                  {"driver >= r580", "580.95.05"},
                                  {"cuda < 1MiB", "580.95.05"},
                                  {"nccl > \"2.28 \"", "580.95.05"},
                                  {"kernel >= 6.11", "`kernel = 6.8*`"},
                                  {"blas > \"x\"", "`blas = \"OpenBLAS 0.3.21*\"`"}}) {
    const Status error = ParseResultFilter(bad).status();
    EXPECT_EQ(error.reason(), Reason::kBadFilter) << bad;
    EXPECT_THAT(error.hint(), HasSubstr(hint)) << bad;
  }
  for (const char* good :
       {"driver >= 580.95.05", "benchmark < h", "campaign >= a", "kernel = 6.8*",
        "parameters.dtype = fp16", "parameters.dtype : 1Mi", "agent_version >= 0.1"}) {
    EXPECT_TRUE(ParseResultFilter(good).ok()) << good;
  }
}

TEST(ResultFilter, ExampleInsteadOfAnOrderFindsWhatResultsSay) {
  v1::StoredResult record;
  record.set_primary(true);
  v1::CaseResult& result = *record.mutable_case_result();
  result.mutable_provenance()->set_kernel("6.8.0-45-generic");
  result.mutable_environment()->mutable_software()->set_blas("OpenBLAS 0.3.21 SkylakeX");
  for (const std::string field : {"kernel", "blas"}) {
    const std::string hint = ParseResultFilter(field + " < 7").status().hint();
    const size_t begin = hint.find('`') + 1;
    const auto example = ParseResultFilter(hint.substr(begin, hint.rfind('`') - begin));
    ASSERT_TRUE(example.ok()) << hint << "\n" << example.status();
    const auto found = MatchesResult(*example, record);
    EXPECT_TRUE(found.ok() && *found) << hint;
  }
}

TEST(ResultFilter, RefusesWordsThatNoResultSays) {
  for (const auto& [bad, allowed] :
       {std::pair("outcome = oops", "one of ok, failed, unsupported"),
        {"outcome != OK", "one of ok"},
        {"benchmark = x AND NOT regime = bogus", "one of launch, memory, cache, compute, link"},
        {"cache = warm", "one of cold, hot, none"},
        {"NOT flag = throttling_before", "one of above_ceiling, below_model, busy_host"},
        {"flag != T", "throttled, throttled_before, unsettled, unverified"},
        {"stop_reason = noise", "one of confidence, noise_stable, time_budget, max_samples"}}) {
    const Status error = ParseResultFilter(bad).status();
    EXPECT_EQ(error.reason(), Reason::kBadFilter) << bad;
    EXPECT_THAT(error.message(), HasSubstr(allowed));
  }
  EXPECT_THAT(ParseResultFilter("regime = memry").status().hint(), HasSubstr("`memory`"));
  for (const auto& [bad, hint] : {std::pair("flag = thottled", "did you mean `throttled`?"),
                                  {"flag = shared_cpu", "`shared_gpu`"},
                                  {"flag = noisy", "by `uncertainty > 0.025`"},
                                  {"flag = hot_cache", "by `cache = hot`"},
                                  {"flag = dusty", "`flag : WORD`"}}) {
    const Status error = ParseResultFilter(bad).status();
    EXPECT_EQ(error.reason(), Reason::kBadFilter) << bad;
    EXPECT_THAT(error.hint(), HasSubstr(hint)) << bad;
  }
  for (const char* good : {"flag = throttled", "flag : dusty", "flag = throt*", "flag : *",
                           "outcome = ok", "regime : *", "regime = comp*", "regime : lau",
                           "regime = *", "stop_reason != confidence", "uncertainty > 2.5e-2"}) {
    EXPECT_TRUE(ParseResultFilter(good).ok()) << good;
  }
}

TEST(ResultFilter, FindsTheDoubtsThatAreNoFlags) {
  for (const auto& [doubt, filter] : kOtherDoubts) {
    EXPECT_TRUE(ParseResultFilter(filter).ok()) << doubt;
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
