// Tests the campaign that the coordinator makes of imported results, and the imports it refuses.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "common/uuid.h"
#include "coordinator/core/coordinator.h"
#include "wire/import_rules.h"

namespace assay::coordinator {
namespace {

constexpr int64_t kNowSeconds = 1'750'000'000;
constexpr WallTime kNow{std::chrono::seconds(kNowSeconds)};

v1::ImportResultsRequest MakeRequest(int results = 3) {
  v1::ImportResultsRequest request;
  request.set_name("import: log.txt");
  request.set_request_id(NewUuid());
  request.mutable_provenance()->set_imported_from("nccl-tests 2.17.6");
  request.mutable_provenance()->add_node_names("rack-7");
  request.mutable_environment()->set_gpu_model("H100");
  request.mutable_environment()->set_gpu_count(8);
  for (int i = 0; i < results; ++i) {
    v1::CaseResult& result = *request.add_results();
    result.set_benchmark(i % 3 == 2 ? "broadcast" : "all_reduce");
    result.set_benchmark_version(1);
    result.set_outcome(v1::CASE_OUTCOME_OK);
    (*result.mutable_parameters())["bytes"] = std::to_string(i);
    v1::Measurement& measurement = *result.add_measurements();
    measurement.set_metric("bus_bandwidth");
    measurement.set_unit("GB/s");
    measurement.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
    measurement.set_n(1);
    measurement.set_median(100);
    result.mutable_verification()->set_passed(true);
  }
  return request;
}

TEST(ImportsTest, Import_BecomesACampaignWithOneJobPerBenchmark) {
  v1::ImportResultsRequest request = MakeRequest();
  // Fields that an import does not have are dropped.
  v1::CaseResult& sent = *request.mutable_results(0);
  sent.set_job_id("mine");
  sent.set_epoch(7);
  sent.set_case_index(99);
  sent.add_kernels("kernel");
  sent.mutable_prediction()->set_efficiency_spec(2);
  sent.mutable_environment()->set_cpu_model("mine");
  sent.mutable_provenance()->set_simulated(true);
  sent.mutable_measurements(0)->add_samples(1);
  sent.mutable_conditions()->set_power_watts(700);
  request.mutable_provenance()->set_agent_version("0.1.0");
  request.mutable_provenance()->add_gpu_uuids("GPU-1");
  const auto imported = ToImportedCampaign(request, kNow);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->campaign.spec.name(), "import: log.txt");
  EXPECT_EQ(imported->campaign.request_id, request.request_id());
  ASSERT_EQ(imported->campaign.jobs.size(), 2U);
  EXPECT_EQ(imported->campaign.jobs[0].benchmark, "all_reduce");
  EXPECT_EQ(imported->campaign.jobs[0].cases.size(), 2U);
  EXPECT_EQ(imported->campaign.jobs[0].world_size, 8);
  ASSERT_EQ(imported->results.size(), 3U);
  const v1::CaseResult& first = imported->results[0];
  EXPECT_EQ(first.job_id(), imported->campaign.jobs[0].job_id);
  EXPECT_EQ(first.epoch(), 1);
  EXPECT_EQ(first.case_index(), 0);
  EXPECT_EQ(imported->results[1].case_index(), 1);
  EXPECT_TRUE(first.kernels().empty());
  EXPECT_FALSE(first.has_prediction());
  EXPECT_FALSE(first.has_conditions());
  EXPECT_EQ(first.environment().cpu_model(), "");
  EXPECT_EQ(first.environment().gpu_model(), "H100");
  EXPECT_FALSE(first.provenance().simulated());
  EXPECT_EQ(first.provenance().agent_version(), "");
  EXPECT_TRUE(first.provenance().gpu_uuids().empty());
  EXPECT_EQ(first.provenance().node_names(0), "rack-7");
  EXPECT_TRUE(first.measurements(0).samples().empty());
}

TEST(ImportsTest, InvalidFields_AreNamed) {
  using Spoil = std::function<void(v1::ImportResultsRequest&)>;
  const auto first = [](v1::ImportResultsRequest& request) { return request.mutable_results(0); };
  const std::vector<std::pair<const char*, Spoil>> faults = {
      {"name", [](auto& r) { r.clear_name(); }},
      {"name", [](auto& r) { r.set_name("a\nb"); }},
      {"name", [](auto& r) { r.set_name(std::string(201, 'a')); }},
      {"request_id", [](auto& r) { r.set_request_id("1"); }},
      {"provenance.imported_from", [](auto& r) { r.clear_provenance(); }},
      {"provenance.node_names[1]",
       [](auto& r) { r.mutable_provenance()->add_node_names("\x1b[1m"); }},
      {"environment.gpu_model", [](auto& r) { r.mutable_environment()->set_gpu_model("\xff"); }},
      {"environment", [](auto& r) { r.mutable_environment()->set_gpu_count(-1); }},
      {"results", [](auto& r) { r.clear_results(); }},
      {"results[0].benchmark", [&](auto& r) { first(r)->set_benchmark("'; DROP TABLE"); }},
      {"results[0].benchmark_version", [&](auto& r) { first(r)->clear_benchmark_version(); }},
      {"results[0].parameters", [&](auto& r) { (*first(r)->mutable_parameters())["A B"] = "1"; }},
      {"results[0].parameters[0].value",
       [&](auto& r) { (*first(r)->mutable_parameters())["bytes"] = std::string("\0", 1); }},
      {"results[0].outcome", [&](auto& r) { first(r)->clear_outcome(); }},
      {"results[0].outcome", [&](auto& r) { first(r)->set_outcome(v1::CASE_OUTCOME_UNSUPPORTED); }},
      {"results[0].measurements", [&](auto& r) { first(r)->clear_measurements(); }},
      {"results[0].measurements", [&](auto& r) { first(r)->set_outcome(v1::CASE_OUTCOME_FAILED); }},
      {"results[0].failure.reason",
       [&](auto& r) {
         first(r)->set_outcome(v1::CASE_OUTCOME_FAILED);
         first(r)->clear_measurements();
       }},
      {"results[0].verification",
       [&](auto& r) { first(r)->mutable_verification()->set_passed(false); }},
      {"results[0].measurements[0].median",
       [&](auto& r) {
         first(r)->mutable_measurements(0)->set_median(std::numeric_limits<double>::infinity());
       }},
      {"results[0].measurements[0].p05",
       [&](auto& r) {
         first(r)->mutable_measurements(0)->set_p05(std::numeric_limits<double>::quiet_NaN());
       }},
      {"results[0].measurements.metric",
       [&](auto& r) { *first(r)->add_measurements() = first(r)->measurements(0); }},
      {"results[0].measurements.n", [&](auto& r) { first(r)->mutable_measurements(0)->set_n(0); }},
      {"results[0].start_time", [&](auto& r) { first(r)->mutable_start_time()->set_seconds(-1); }},
      {"results[0].end_time",
       [&](auto& r) { first(r)->mutable_end_time()->set_seconds(kNowSeconds + 301); }},
      {"results[0].conditions.flags",
       [&](auto& r) { first(r)->mutable_conditions()->add_flags("Not a word"); }},
  };
  for (const auto& [field, spoil] : faults) {
    v1::ImportResultsRequest request = MakeRequest();
    spoil(request);
    const auto imported = ToImportedCampaign(request, kNow);
    ASSERT_FALSE(imported.ok()) << field;
    EXPECT_EQ(imported.status().code(), Code::kInvalidArgument);
    ASSERT_FALSE(imported.status().violations().empty()) << field;
    EXPECT_EQ(imported.status().violations()[0].field, field);
  }
  // The clock of the sender may differ a little.
  v1::ImportResultsRequest soon = MakeRequest();
  soon.mutable_results(0)->mutable_end_time()->set_seconds(kNowSeconds + 299);
  EXPECT_TRUE(ToImportedCampaign(soon, kNow).ok());
  EXPECT_TRUE(ToImportedCampaign(MakeRequest(schema::kMaxImportedResults), kNow).ok());
  EXPECT_FALSE(ToImportedCampaign(MakeRequest(schema::kMaxImportedResults + 1), kNow).ok());
}

}  // namespace
}  // namespace assay::coordinator
