#include "cli/views/counters_view.h"

#include <gmock/gmock.h>

#include "cli/views/results_view.h"

namespace assay::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::StoredResult Gemm(int case_index, const std::string& metric = "tflops") {
  v1::StoredResult result;
  v1::CaseResult& run = *result.mutable_case_result();
  run.set_job_id("j");
  run.set_case_index(case_index);
  run.set_benchmark("gemm");
  run.set_outcome(v1::CASE_OUTCOME_OK);
  (*run.mutable_parameters())["m"] = std::to_string(1024 << case_index);
  run.add_measurements()->set_metric(metric);
  run.add_kernels("nvjet_sm90_tst_320x128");
  run.add_kernels("splitK<float>");
  return result;
}

v1::StoredResult Counted(int case_index, const std::string& metric = "tflops") {
  v1::StoredResult result = Gemm(case_index, metric);
  v1::Counters& counters = *result.mutable_case_result()->mutable_counters();
  counters.set_source("cupti");
  counters.set_dram_read_bytes(1.25e9);
  counters.set_tensor_pipe_active(0.934);
  counters.set_sm_throughput(0);
  return result;
}

std::string Counters(const std::vector<v1::StoredResult>& results) {
  Marks marks;
  const std::string table = CountersTable(results, {}, {}, marks);
  return table + marks.Legend(0);
}

TEST(CountersTableTest, ShowsEachCaseOnceWithItsKernels) {
  EXPECT_EQ(Counters({Counted(0), Counted(0, "time"), Gemm(1)}),
            "\n"
            "BENCHMARK  PARAMETERS  COUNTERS BY  DRAM READ    SM  TENSOR  KERNELS\n"
            "gemm       m=1024      cupti         1.250 GB  0.0%   93.4%  nvjet_sm90_tst_320x128, "
            "splitK<float>\n");
}

TEST(CountersTableTest, SaysWhyASourceIsNotTheBest) {
  v1::StoredResult result = Counted(0);
  v1::Counters& counters = *result.mutable_case_result()->mutable_counters();
  counters.set_source("nvml_gpm");
  counters.set_reason("cupti: for administrators alone");
  counters.clear_dram_read_bytes();
  const std::string text = Counters({result});
  EXPECT_THAT(text, HasSubstr("nvml_gpm [1]"));
  EXPECT_THAT(text, HasSubstr("[1] cupti: for administrators alone\n"));
  EXPECT_THAT(text, Not(HasSubstr("DRAM READ")));
}

TEST(CountersTableTest, KernelsAloneAreForASingleCase) {
  EXPECT_EQ(Counters({Gemm(0), Gemm(1)}), "");
  EXPECT_THAT(Counters({Gemm(0), Gemm(0, "time")}), HasSubstr("nvjet_sm90_tst_320x128"));
  EXPECT_THAT(ResultsTable({Gemm(0)}, {}), HasSubstr("nvjet_sm90_tst_320x128"));
  v1::StoredResult without = Gemm(0);
  without.mutable_case_result()->clear_kernels();
  EXPECT_EQ(Counters({without}), "");
  EXPECT_EQ(Counters({}), "");
}

TEST(CountersTableTest, SaysWhyKernelsHaveNoNames) {
  v1::StoredResult without = Gemm(0);
  without.mutable_case_result()->clear_kernels();
  without.mutable_case_result()->set_kernels_reason("cannot load libcupti.so.13");
  const std::string text = Counters({without});
  EXPECT_THAT(text, HasSubstr("unknown [1]"));
  EXPECT_THAT(text, HasSubstr("[1] cannot load libcupti.so.13\n"));
}

}  // namespace
}  // namespace assay::cli
