// Tests campaigns that cannot be expanded: every error names its field and line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "campaign/expand.h"
#include "common/violations.h"
#include "tests/unit/campaign/fleet_records.h"
#include "tests/wording.h"

namespace assay::campaign {
namespace {

using ::testing::SizeIs;

// A change that makes a valid campaign invalid, and where the error must be. Its wording is in the
// golden file under the name.
struct Refusal {
  std::string name;
  std::function<void(v1::CampaignSpec&)> spoil;
  std::string field;
  int line = 0;  // 0: any.
};

v1::BenchmarkMatrix& First(v1::CampaignSpec& spec) { return *spec.mutable_benchmarks(0); }

void SetRange(v1::CampaignSpec& spec, const std::string& from, const std::string& to,
              const std::string& factor, const std::string& step) {
  v1::ParameterAxis* axis = First(spec).mutable_axes(0);
  axis->mutable_range()->set_from(from);
  axis->mutable_range()->set_to(to);
  axis->mutable_range()->set_factor(factor);
  axis->mutable_range()->set_step(step);
}

std::vector<Refusal> Refusals() {
  using Spec = v1::CampaignSpec;
  const auto accept = [](const char* text) {
    return [text](Spec& s) {
      s.add_accept()->set_text(text);
      s.mutable_accept(0)->set_line(9);
    };
  };
  return {
      {"NoName", [](Spec& s) { s.clear_name(); }, "name"},
      {"Repetitions", [](Spec& s) { s.set_repetitions(1001); }, "repetitions"},
      {"Retries", [](Spec& s) { s.set_retries(11); }, "retries"},
      {"Priority", [](Spec& s) { s.set_priority(-101); }, "priority"},
      {"Timeout", [](Spec& s) { s.mutable_timeout()->set_seconds(86401); }, "timeout"},
      {"NoBenchmark", [](Spec& s) { s.clear_benchmarks(); }, "benchmarks"},
      {"UnknownBenchmark", [](Spec& s) { First(s).set_benchmark("cpu_gem"); }, "benchmarks[0]", 4},
      {"UnknownParameter", [](Spec& s) { AddAxis(First(s), "dtyp", {"bf16"}, 7); },
       "benchmarks[0].dtyp", 7},
      {"WrongWord",
       [](Spec& s) {
         AddAxis(First(s), "dtype", {"fp16", "bf17"}, 7);
       },
       "benchmarks[0].dtype[1]", 7},
      {"OutOfBounds", [](Spec& s) { First(s).mutable_axes(0)->mutable_list()->set_values(0, "0"); },
       "benchmarks[0].m[0]", 4},
      {"Missing", [](Spec& s) { First(s).mutable_axes()->RemoveLast(); }, "benchmarks[0].k", 4},
      {"EmptyList", [](Spec& s) { AddAxis(First(s), "dtype", {}, 8); }, "benchmarks[0].dtype", 8},
      {"ValueTwice",
       [](Spec& s) {
         AddAxis(First(s), "dtype", {"bf16", "bf16"});
       },
       "benchmarks[0].dtype[1]"},
      {"AxisTwice", [](Spec& s) { AddAxis(First(s), "m", {"8"}); }, "benchmarks[0].m"},
      {"RangeWithoutStride", [](Spec& s) { SetRange(s, "1", "8", "", ""); }, "benchmarks[0].m"},
      {"RangeWithBoth", [](Spec& s) { SetRange(s, "1", "8", "2", "2"); }, "benchmarks[0].m"},
      {"RangeBackwards", [](Spec& s) { SetRange(s, "8", "1", "2", ""); }, "benchmarks[0].m"},
      {"RangeFactorOne", [](Spec& s) { SetRange(s, "1", "8", "1", ""); }, "benchmarks[0].m"},
      {"RangeBeyond", [](Spec& s) { SetRange(s, "1", "70000", "", "1"); }, "benchmarks[0].m"},
      {"SameAsUnknown", [](Spec& s) { First(s).mutable_axes(1)->set_same_as("q"); },
       "benchmarks[0].n"},
      {"SameAsCircular",
       [](Spec& s) {
         First(s).mutable_axes(0)->set_same_as("n");
         First(s).mutable_axes(1)->set_same_as("m");
       },
       "benchmarks[0].m"},
      {"TooManyCases", [](Spec& s) { SetRange(s, "1", "65536", "", "1"); }, "benchmarks"},
      {"TooManyJobs",
       [](Spec& s) {
         s.set_repetitions(1000);
         for (int i = 0; i < 4; ++i) *s.add_benchmarks() = s.benchmarks(0);
       },
       "benchmarks"},
      {"FilterSyntax", [](Spec& s) { s.set_node_filter("name = = a"); }, "nodes", 2},
      {"FilterField", [](Spec& s) { s.set_node_filter("gpu.modell = x"); }, "nodes", 2},
      {"FilterMatchesNone", [](Spec& s) { s.set_node_filter("gpu.model = \"L4\""); }, "nodes", 2},
      {"FilterNamesNodes", [](Spec& s) { s.set_node_filter("name = z"); }, "nodes", 2},
      {"NoGpuThere",
       [](Spec& s) {
         First(s).set_benchmark("gemm");
         First(s).add_gpu_indices(9);
       },
       "benchmarks[0].gpus", 4},
      {"GpusOfACpuBenchmark", [](Spec& s) { First(s).add_gpu_indices(0); }, "benchmarks[0].gpus",
       4},
      {"TooFewGpus",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         AddAxis(First(s), "ranks", {"16"});
       },
       "benchmarks[0].ranks"},
      {"TooFewNodes",
       [](Spec& s) {
         s = MakeSpec("tcp_all_reduce");
         AddAxis(First(s), "ranks", {"4"});
       },
       "benchmarks[0].ranks"},
      {"UnevenNodes",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         AddAxis(First(s), "ranks", {"5"});
         AddAxis(First(s), "nodes", {"2"});
       },
       "benchmarks[0].nodes", 4},
      {"TooFewGpusOfEach",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         AddAxis(First(s), "ranks", {"8"});
         AddAxis(First(s), "nodes", {"2"});
       },
       "benchmarks[0].nodes", 4},
      {"TooFewNodesOfGpus",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         AddAxis(First(s), "nodes", {"2"});
         s.set_node_filter("name = b");
       },
       "benchmarks[0].nodes", 4},
      {"NeitherRefusedNorSkipped",
       [](Spec& s) { s.set_unplaceable(static_cast<v1::Unplaceable>(7)); }, "unplaceable"},
      {"NeitherRefusedNorSkippedInAnEntry",
       [](Spec& s) { First(s).set_unplaceable(static_cast<v1::Unplaceable>(7)); },
       "benchmarks[0].unplaceable", 4},
      {"PairsOfOneNode", [](Spec& s) { s.set_placement(v1::PLACEMENT_POLICY_PAIRS); },
       "benchmarks[0]", 4},
      {"PairsOfThreeRanks",
       [](Spec& s) {
         s = MakeSpec("tcp_all_reduce");
         AddAxis(First(s), "ranks", {"3"});
         s.set_placement(v1::PLACEMENT_POLICY_PAIRS);
       },
       "benchmarks[0].ranks", 4},
      {"PairsOfOneNodesGpus",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         s.set_placement(v1::PLACEMENT_POLICY_PAIRS);
       },
       "benchmarks[0].nodes", 4},
      {"NcclName",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         (*s.mutable_nccl())["NCCL_ALG"] = "Ring";
         (*s.mutable_lines())["nccl.NCCL_ALG"] = 11;
       },
       "nccl.NCCL_ALG", 11},
      {"NcclValue",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         (*First(s).mutable_nccl())["NCCL_ALGO"] = "/tmp/x";
         (*s.mutable_lines())["benchmarks[0].nccl.NCCL_ALGO"] = 12;
       },
       "benchmarks[0].nccl.NCCL_ALGO", 12},
      {"NcclValueOfAnotherKind",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         (*s.mutable_nccl())["NCCL_BUFFSIZE"] = "4MiB";
         (*s.mutable_lines())["nccl.NCCL_BUFFSIZE"] = 11;
       },
       "nccl.NCCL_BUFFSIZE", 11},
      {"NcclOfNoCollective", [](Spec& s) { (*First(s).mutable_nccl())["NCCL_ALGO"] = "Ring"; },
       "benchmarks[0].nccl", 4},
      {"CountersWithoutAGpu", [](Spec& s) { First(s).set_counters(true); },
       "benchmarks[0].counters", 4},
      {"CountersOfSeveralGpus",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         First(s).set_counters(true);
       },
       "benchmarks[0].counters", 4},
      {"CountersForNothing",
       [](Spec& s) {
         s.set_counters(true);
         (*s.mutable_lines())["counters"] = 14;
       },
       "counters", 14},
      {"NcclForNothing",
       [](Spec& s) {
         (*s.mutable_nccl())["NCCL_ALGO"] = "Ring";
         (*s.mutable_lines())["nccl"] = 13;
       },
       "nccl", 13},
      {"Unsupported",
       [](Spec& s) {
         s = MakeSpec("gemm");
         s.set_node_filter("name = c");
       },
       "benchmarks[0]", 4},
      {"AcceptSyntax", accept("cpu_gemm tflops"), "accept[0]", 9},
      {"AcceptBenchmark", accept("gemm.tflops >= 1 TFLOP/s"), "accept[0]", 9},
      {"AcceptMetric", accept("cpu_gemm.tflop >= 1 TFLOP/s"), "accept[0]", 9},
      {"AcceptUnit", accept("cpu_gemm.tflops >= 1 GB/s"), "accept[0]", 9},
      {"AcceptNoUnit", accept("cpu_gemm.tflops >= 1"), "accept[0]", 9},
      {"AcceptSpecOfCpus", accept("cpu_gemm.tflops >= 65% of spec"), "accept[0]", 9},
      {"AcceptParameter", accept("cpu_gemm[mm=3].tflops >= 1 TFLOP/s"), "accept[0]", 9},
      {"AcceptValue", accept("cpu_gemm[m=65].tflops >= 1 TFLOP/s"), "accept[0]", 9},
  };
}

class ExpandRefusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(ExpandRefusals, ErrorHasFieldAndLine) {
  const Refusal& refusal = GetParam();
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  refusal.spoil(spec);
  const auto expansion = ExpandCampaign(spec, ThreeNodes());
  ASSERT_FALSE(expansion.ok());
  EXPECT_EQ(expansion.status().reason(), Reason::kInvalidCampaign);
  const std::vector<Violation>& violations = expansion.status().violations();
  const auto found =
      std::find_if(violations.begin(), violations.end(), [&](const Violation& violation) {
        return violation.field == refusal.field &&
               (refusal.line == 0 || violation.line == refusal.line);
      });
  ASSERT_NE(found, violations.end()) << expansion.status();
  EXPECT_WORDING("campaign/refused-" + refusal.name, found->description);
}

INSTANTIATE_TEST_SUITE_P(All, ExpandRefusals, ::testing::ValuesIn(Refusals()),
                         [](const auto& info) { return info.param.name; });

TEST(ExpandRefusalTest, AllErrors_AreReportedTogether) {
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.clear_name();
  spec.set_node_filter("name = z");
  AddAxis(First(spec), "dtype", {"bf17"});
  spec.add_accept()->set_text("nonsense");
  const auto expansion = ExpandCampaign(spec, ThreeNodes());
  ASSERT_FALSE(expansion.ok());
  EXPECT_THAT(expansion.status().violations(), SizeIs(4)) << expansion.status();
}

TEST(ExpandRefusalTest, UnknownBenchmarks_ListTheKnownOnesOnce) {
  v1::CampaignSpec spec = MakeSpec("all_to_none");
  spec.add_benchmarks()->set_benchmark("elsewhere");
  spec.add_benchmarks()->set_benchmark("cpu_gem");
  const std::vector<Violation> violations =
      ExpandCampaign(spec, ThreeNodes()).status().violations();
  ASSERT_THAT(violations, SizeIs(3));
  EXPECT_WORDING("campaign/unknown-benchmark-first", violations[0].description);
  EXPECT_WORDING("campaign/unknown-benchmark-second", violations[1].description);
  EXPECT_WORDING("campaign/unknown-benchmark-similar", violations[2].description);
}

TEST(ExpandRefusalTest, MoreThanHundredErrors_LastSaysSo) {
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  for (int i = 0; i < 101; ++i) spec.add_benchmarks()->set_benchmark("elsewhere");
  const std::vector<Violation> violations =
      ExpandCampaign(spec, ThreeNodes()).status().violations();
  ASSERT_THAT(violations, SizeIs(101));
  EXPECT_EQ(violations.back().description, kMoreErrors);
}

// 2^48 cases would not fit the memory if they were made.
TEST(ExpandRefusalTest, ExplodingMatrix_IsCountedButNotMade) {
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  for (int axis = 0; axis < 3; ++axis) {
    v1::ValueRange* range = First(spec).mutable_axes(axis)->mutable_range();
    range->set_from("1");
    range->set_to("65536");
    range->set_step("1");
  }
  const std::vector<Violation> violations =
      ExpandCampaign(spec, ThreeNodes()).status().violations();
  ASSERT_THAT(violations, SizeIs(1));
  EXPECT_EQ(violations[0].field, "benchmarks");
  EXPECT_WORDING("campaign/refused-ExplodingMatrix", violations[0].description);
}

TEST(ExpandRefusalTest, FilterMatchesOnlyDisconnectedNodes_IsRefused) {
  std::vector<v1::Node> fleet = ThreeNodes();
  fleet.push_back(MakeFleetNode("d", '4', 0));
  fleet.back().set_state(v1::NODE_STATE_DISCONNECTED);
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_node_filter("name = d");
  const std::vector<Violation> violations = ExpandCampaign(spec, fleet).status().violations();
  ASSERT_THAT(violations, SizeIs(1));
  EXPECT_EQ(violations[0].field, "nodes");
  EXPECT_WORDING("campaign/refused-DisconnectedNodes", violations[0].description);
}

}  // namespace
}  // namespace assay::campaign
