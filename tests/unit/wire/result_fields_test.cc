#include "wire/result_fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "wire/result_filter.h"

namespace assay::schema {
namespace {

using Json = nlohmann::json;

// A result with two metrics and values of every type.
v1::CaseResult MakeCase() {
  v1::CaseResult result;
  result.set_benchmark("gemm");
  result.set_outcome(v1::CASE_OUTCOME_OK);
  (*result.mutable_parameters())["m"] = "4096";
  (*result.mutable_parameters())["dtype"] = "bf16";
  for (const char* metric : {"tflops", "time"}) {
    v1::Measurement& measurement = *result.add_measurements();
    measurement.set_metric(metric);
    measurement.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
    measurement.set_n(6);
    measurement.set_median(712.25);
    measurement.set_ci_low(711);
    measurement.set_ci_high(714);
  }
  result.mutable_measurements(0)->add_samples(712.25);
  result.mutable_start_time()->set_seconds(1'767'225'600);
  result.mutable_prediction()->mutable_link_model()->set_bandwidth(2e9);
  result.mutable_counters()->set_tensor_pipe_active(0);
  result.mutable_conditions()->add_flags("throttled");
  result.mutable_conditions()->add_flags("busy_host");
  result.mutable_environment()->set_gpu_model("H200");
  result.mutable_environment()->set_gpu_count(2);
  (*result.mutable_environment()->mutable_nccl())["NCCL_PROTO"] = "LL";
  (*result.mutable_environment()->mutable_nccl())["NCCL_ALGO"] = "Ring,Tree";
  v1::RankTimes& rank = *result.add_rank_times();
  rank.set_rank(1);
  rank.set_wait(0.5);
  return result;
}

Json JsonOf(const v1::StoredResult& result) { return Json::parse(ResultJson(result)); }

std::string CsvText(const v1::StoredResult& result, std::string_view column) {
  const std::vector<std::string> columns = ResultCsvColumns();
  const auto found = std::find(columns.begin(), columns.end(), column);
  if (found == columns.end()) return "no such column";
  return ResultCsvTexts(result)[static_cast<size_t>(found - columns.begin())];
}

TEST(ResultFieldsTest, NamesAreUnique) {
  std::set<std::string_view> names;
  std::set<std::string> columns;
  for (const ResultField& field : ResultFields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_TRUE(columns.insert(ColumnName(field.name)).second) << field.name;
    EXPECT_FALSE(field.description.empty()) << field.name;
  }
}

TEST(ResultFieldsTest, EveryPathExists) {
  for (const ResultField& field : ResultFields()) {
    if (field.read != nullptr) continue;
    const google::protobuf::Descriptor* message = v1::StoredResult::descriptor();
    std::string_view path = field.path;
    for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.')) {
      const auto* const step = message->FindFieldByName(std::string(path.substr(0, dot)));
      ASSERT_NE(step, nullptr) << field.path;
      message = step->message_type();
      ASSERT_NE(message, nullptr) << field.path;
      path.remove_prefix(dot + 1);
    }
    EXPECT_NE(message->FindFieldByName(std::string(path)), nullptr) << field.path;
  }
}

TEST(ResultFieldsTest, NoFieldIsBothAValueAndAnObject) {
  for (const ResultField& field : ResultFields()) {
    const std::string_view parent = field.name.substr(0, field.name.find('.'));
    if (parent != field.name) EXPECT_EQ(FindResultField(parent), nullptr) << field.name;
  }
}

TEST(ResultFieldsTest, EveryExampleIsAValidFilter) {
  for (const ResultField& field : ResultFields()) {
    if (field.example.empty()) continue;
    EXPECT_NE(field.stored_in, StoredIn::kNowhere) << field.name;
    const bool map = field.type == FieldType::kMap;
    const Status status =
        ParseResultFilter((map ? "" : std::string(field.name) + " ") + std::string(field.example))
            .status();
    EXPECT_TRUE(status.ok()) << field.name << ": " << status;
  }
}

TEST(ResultFieldsTest, SplitGivesOneResultPerMetric) {
  const auto results = SplitByMetric(MakeCase());
  ASSERT_EQ(results.size(), 2U);
  EXPECT_TRUE(results[0].primary());
  EXPECT_FALSE(results[1].primary());
  EXPECT_EQ(results[1].case_result().measurements_size(), 1);
  EXPECT_EQ(JsonOf(results[1])["metric"], "time");
  const auto failed = SplitByMetric(v1::CaseResult());
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_TRUE(failed[0].primary());
}

TEST(ResultJsonTest, NestsDottedNamesAndKeepsTypes) {
  const v1::StoredResult result = SplitByMetric(MakeCase())[0];
  const Json json = JsonOf(result);
  EXPECT_EQ(json["gpu"], Json({{"model", "H200"}, {"count", 2}}));
  EXPECT_EQ(json["parameters"], Json({{"dtype", "bf16"}, {"m", "4096"}}));
  EXPECT_EQ(json["flag"], Json({"throttled", "busy_host"}));
  EXPECT_EQ(json["samples"], Json({712.25}));
  EXPECT_EQ(json["time"], "2026-01-01T00:00:00Z");
  EXPECT_EQ(json["primary"], true);
  EXPECT_EQ(json["rank_times"][0]["wait"], 0.5);
  EXPECT_EQ(ResultJson(result).find('\n'), std::string::npos);
}

TEST(ResultJsonTest, AbsentFieldsAreLeftOutAndZeroIsKept) {
  const Json json = JsonOf(SplitByMetric(MakeCase())[0]);
  EXPECT_EQ(json["tensor_pipe_active"], 0);
  for (const char* absent : {"dram_read_bytes", "verified", "failure_reason", "slow_rank",
                             "price_per_hour", "end_time", "result_id"}) {
    EXPECT_FALSE(json.contains(absent)) << absent;
  }
}

TEST(ResultJsonTest, FailedCaseHasNoMeasurement) {
  v1::CaseResult failed = MakeCase();
  failed.clear_measurements();
  failed.set_outcome(v1::CASE_OUTCOME_FAILED);
  const Json json = JsonOf(SplitByMetric(failed)[0]);
  EXPECT_EQ(json["outcome"], "failed");
  for (const char* absent : {"metric", "n", "median", "ci_low", "batch", "samples"}) {
    EXPECT_FALSE(json.contains(absent)) << absent;
  }
}

TEST(ResultJsonTest, FewerThanSixSamplesHaveNoInterval) {
  v1::StoredResult result = SplitByMetric(MakeCase())[0];
  EXPECT_EQ(JsonOf(result)["ci_low"], 711);
  EXPECT_EQ(CsvText(result, "ci_high"), "714");
  result.mutable_case_result()->mutable_measurements(0)->set_n(5);
  EXPECT_FALSE(JsonOf(result).contains("ci_low"));
  EXPECT_FALSE(JsonOf(result).contains("uncertainty"));
  EXPECT_EQ(CsvText(result, "ci_high"), "");
}

TEST(ResultCsvTest, ColumnsAndTextsAgree) {
  const v1::StoredResult result = SplitByMetric(MakeCase())[0];
  EXPECT_EQ(ResultCsvTexts(result).size(), ResultCsvColumns().size());
  EXPECT_EQ(CsvText(result, "median"), "712.25");
  EXPECT_EQ(CsvText(result, "model_bandwidth"), "2e+09");
  EXPECT_EQ(CsvText(result, "parameters"), "dtype=bf16;m=4096");
  EXPECT_EQ(CsvText(result, "nccl_variables"), "NCCL_ALGO=Ring,Tree;NCCL_PROTO=LL");
  EXPECT_EQ(CsvText(result, "flag"), "throttled;busy_host");
  EXPECT_EQ(CsvText(result, "gpu.model"), "H200");
  EXPECT_EQ(CsvText(result, "simulated"), "false");
  EXPECT_EQ(CsvText(result, "tensor_pipe_active"), "0");
  EXPECT_EQ(CsvText(result, "dram_read_bytes"), "");
}

}  // namespace
}  // namespace assay::schema
