// Campaigns that cannot be expanded: every fault is named with its field and line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "common/violations.h"
#include "coordinator/core/campaign/expand.h"
#include "tests/unit/coordinator/fleet_records.h"

namespace assay::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// One fault: what is done to a sound campaign, and what has to be said where.
struct Fault {
  const char* name;
  std::function<void(v1::CampaignSpec&)> spoil;
  std::string field;
  std::string text;
  int line = 0;
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

std::vector<Fault> Faults() {
  using Spec = v1::CampaignSpec;
  const auto accept = [](const char* text) {
    return [text](Spec& s) {
      s.add_accept()->set_text(text);
      s.mutable_accept(0)->set_line(9);
    };
  };
  return {
      {"NoName", [](Spec& s) { s.clear_name(); }, "name", "is missing"},
      {"Repetitions", [](Spec& s) { s.set_repetitions(1001); }, "repetitions", "1 to 1000"},
      {"Retries", [](Spec& s) { s.set_retries(11); }, "retries", "0 to 10"},
      {"Priority", [](Spec& s) { s.set_priority(-101); }, "priority", "-100 to 100"},
      {"Timeout", [](Spec& s) { s.mutable_timeout()->set_seconds(86401); }, "timeout", "1s to 24h"},
      {"NoBenchmark", [](Spec& s) { s.clear_benchmarks(); }, "benchmarks", "is empty"},
      {"UnknownBenchmark", [](Spec& s) { First(s).set_benchmark("cpu_gem"); }, "benchmarks[0]",
       "did you mean \"cpu_gemm\"?", 4},
      {"UnknownParameter", [](Spec& s) { AddAxis(First(s), "dtyp", {"bf16"}, 7); },
       "benchmarks[0].dtyp", "did you mean \"dtype\"?", 7},
      {"WrongWord",
       [](Spec& s) {
         AddAxis(First(s), "dtype", {"fp16", "bf17"}, 7);
       },
       "benchmarks[0].dtype[1]", "one of bf16, fp16, fp32", 7},
      {"OutOfBounds", [](Spec& s) { First(s).mutable_axes(0)->mutable_list()->set_values(0, "0"); },
       "benchmarks[0].m[0]", "from 1 to 65536", 4},
      {"Missing", [](Spec& s) { First(s).mutable_axes()->RemoveLast(); }, "benchmarks[0].k",
       "needs it", 4},
      {"EmptyList", [](Spec& s) { AddAxis(First(s), "dtype", {}, 8); }, "benchmarks[0].dtype",
       "the list is empty", 8},
      {"ValueTwice",
       [](Spec& s) {
         AddAxis(First(s), "dtype", {"bf16", "bf16"});
       },
       "benchmarks[0].dtype[1]", "twice"},
      {"AxisTwice", [](Spec& s) { AddAxis(First(s), "m", {"8"}); }, "benchmarks[0].m",
       "stands twice"},
      {"RangeWithoutStride", [](Spec& s) { SetRange(s, "1", "8", "", ""); }, "benchmarks[0].m",
       "needs \"factor\" or \"step\""},
      {"RangeWithBoth", [](Spec& s) { SetRange(s, "1", "8", "2", "2"); }, "benchmarks[0].m",
       "not both"},
      {"RangeBackwards", [](Spec& s) { SetRange(s, "8", "1", "2", ""); }, "benchmarks[0].m",
       "is above"},
      {"RangeFactorOne", [](Spec& s) { SetRange(s, "1", "8", "1", ""); }, "benchmarks[0].m",
       "at least 2"},
      {"RangeBeyond", [](Spec& s) { SetRange(s, "1", "70000", "", "1"); }, "benchmarks[0].m",
       "from 1 to 65536"},
      {"SameAsUnknown", [](Spec& s) { First(s).mutable_axes(1)->set_same_as("q"); },
       "benchmarks[0].n", "no parameter"},
      {"SameAsCircular",
       [](Spec& s) {
         First(s).mutable_axes(0)->set_same_as("n");
         First(s).mutable_axes(1)->set_same_as("m");
       },
       "benchmarks[0].m", "refers to itself: m = n = m"},
      {"TooManyCases", [](Spec& s) { SetRange(s, "1", "65536", "", "1"); }, "benchmarks",
       "65536 cases; the limit is 10000"},
      {"TooManyJobs",
       [](Spec& s) {
         s.set_repetitions(1000);
         for (int i = 0; i < 4; ++i) *s.add_benchmarks() = s.benchmarks(0);
       },
       "benchmarks", "15000 jobs; the limit is 10000"},
      {"FilterSyntax", [](Spec& s) { s.set_node_filter("name = = a"); }, "nodes", "character", 2},
      {"FilterField", [](Spec& s) { s.set_node_filter("gpu.modell = x"); }, "nodes", "gpu.model",
       2},
      {"FilterMatchesNone", [](Spec& s) { s.set_node_filter("gpu.model = \"L4\""); }, "nodes",
       "gpu.model = \"L4\" holds for 0 of 3 (they have H200)", 2},
      {"FilterNamesNodes", [](Spec& s) { s.set_node_filter("name = z"); }, "nodes", "b, a, c", 2},
      {"NoGpuThere",
       [](Spec& s) {
         First(s).set_benchmark("gemm");
         First(s).add_gpu_indices(9);
       },
       "benchmarks[0].gpus", "the highest index is 7", 4},
      {"GpusOfACpuBenchmark", [](Spec& s) { First(s).add_gpu_indices(0); }, "benchmarks[0].gpus",
       "cpu_gemm does not run on GPUs", 4},
      {"TooFewGpus",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         AddAxis(First(s), "ranks", {"16"});
       },
       "benchmarks[0].ranks", "is 8 GPUs"},
      {"TooFewNodes",
       [](Spec& s) {
         s = MakeSpec("tcp_all_reduce");
         AddAxis(First(s), "ranks", {"4"});
       },
       "benchmarks[0].ranks", "4 ranks need 4 nodes; 3 nodes match: a, b, c"},
      {"UnevenNodes",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         AddAxis(First(s), "ranks", {"5"});
         AddAxis(First(s), "nodes", {"2"});
       },
       "benchmarks[0].nodes", "5 ranks do not spread evenly over 2 nodes", 4},
      {"TooFewGpusOfEach",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         AddAxis(First(s), "ranks", {"8"});
         AddAxis(First(s), "nodes", {"2"});
       },
       "benchmarks[0].nodes",
       "8 ranks over 2 nodes need 2 nodes with 4 GPUs each; 1 of 2 matching nodes has them: a has "
       "2, b has 8",
       4},
      {"TooFewNodesOfGpus",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         AddAxis(First(s), "nodes", {"2"});
         s.set_node_filter("name = b");
       },
       "benchmarks[0].nodes",
       "2 ranks over 2 nodes need 2 nodes with a GPU each; 1 node matches: b has 8", 4},
      {"NeitherRefusedNorSkipped",
       [](Spec& s) { s.set_unplaceable(static_cast<v1::Unplaceable>(7)); }, "unplaceable",
       "must be refuse or skip"},
      {"NeitherRefusedNorSkippedInAnEntry",
       [](Spec& s) { First(s).set_unplaceable(static_cast<v1::Unplaceable>(7)); },
       "benchmarks[0].unplaceable", "must be refuse or skip", 4},
      {"PairsOfOneNode", [](Spec& s) { s.set_placement(v1::PLACEMENT_POLICY_PAIRS); },
       "benchmarks[0]", "two nodes at a time, and cpu_gemm runs on one", 4},
      {"PairsOfThreeRanks",
       [](Spec& s) {
         s = MakeSpec("tcp_all_reduce");
         AddAxis(First(s), "ranks", {"3"});
         s.set_placement(v1::PLACEMENT_POLICY_PAIRS);
       },
       "benchmarks[0].ranks", "runs on 3; set ranks to 2", 4},
      {"PairsOfOneNodesGpus",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         s.set_placement(v1::PLACEMENT_POLICY_PAIRS);
       },
       "benchmarks[0].nodes", "runs on one; set nodes to 2", 4},
      {"NcclName",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         (*s.mutable_nccl())["NCCL_ALG"] = "Ring";
         (*s.mutable_lines())["nccl.NCCL_ALG"] = 11;
       },
       "nccl.NCCL_ALG", "did you mean NCCL_ALGO?", 11},
      {"NcclValue",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         (*First(s).mutable_nccl())["NCCL_ALGO"] = "/tmp/x";
         (*s.mutable_lines())["benchmarks[0].nccl.NCCL_ALGO"] = 12;
       },
       "benchmarks[0].nccl.NCCL_ALGO", "invalid value \"/tmp/x\" for NCCL_ALGO", 12},
      {"NcclValueOfAnotherKind",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         (*s.mutable_nccl())["NCCL_BUFFSIZE"] = "4MiB";
         (*s.mutable_lines())["nccl.NCCL_BUFFSIZE"] = 11;
       },
       "nccl.NCCL_BUFFSIZE", "invalid value \"4MiB\" for NCCL_BUFFSIZE", 11},
      {"NcclOfNoCollective", [](Spec& s) { (*First(s).mutable_nccl())["NCCL_ALGO"] = "Ring"; },
       "benchmarks[0].nccl", "cpu_gemm is no collective of GPUs", 4},
      {"CountersWithoutAGpu", [](Spec& s) { First(s).set_counters(true); },
       "benchmarks[0].counters",
       "cpu_gemm does not run on a GPU, and hardware counters are read of benchmarks on one GPU; "
       "leave this out",
       4},
      {"CountersOfSeveralGpus",
       [](Spec& s) {
         s = MakeSpec("all_reduce");
         First(s).set_counters(true);
       },
       "benchmarks[0].counters", "all_reduce runs on several GPUs, and hardware counters", 4},
      {"CountersForNothing",
       [](Spec& s) {
         s.set_counters(true);
         (*s.mutable_lines())["counters"] = 14;
       },
       "counters", "no benchmark of this campaign runs on one GPU", 14},
      {"NcclForNothing",
       [](Spec& s) {
         (*s.mutable_nccl())["NCCL_ALGO"] = "Ring";
         (*s.mutable_lines())["nccl"] = 13;
       },
       "nccl", "no benchmark of this campaign is a collective of GPUs", 13},
      {"Unsupported",
       [](Spec& s) {
         s = MakeSpec("gemm");
         s.set_node_filter("name = c");
       },
       "benchmarks[0]", "c: needs a CUDA GPU", 4},
      {"AcceptSyntax", accept("cpu_gemm tflops"), "accept[0]", "character 10", 9},
      {"AcceptBenchmark", accept("gemm.tflops >= 1 TFLOP/s"), "accept[0]", "no benchmark", 9},
      {"AcceptMetric", accept("cpu_gemm.tflop >= 1 TFLOP/s"), "accept[0]",
       "did you mean \"tflops\"?", 9},
      {"AcceptUnit", accept("cpu_gemm.tflops >= 1 GB/s"), "accept[0]", "TFLOP/s", 9},
      {"AcceptNoUnit", accept("cpu_gemm.tflops >= 1"), "accept[0]", "needs a unit", 9},
      {"AcceptSpecOfCpus", accept("cpu_gemm.tflops >= 65% of spec"), "accept[0]",
       "cpu_gemm runs on CPUs, which have no spec sheet, only GPUs have one; write a number that "
       "it has to reach, for example cpu_gemm.tflops >= 1 TFLOP/s",
       9},
      {"AcceptParameter", accept("cpu_gemm[mm=3].tflops >= 1 TFLOP/s"), "accept[0]", "no parameter",
       9},
      {"AcceptValue", accept("cpu_gemm[m=65].tflops >= 1 TFLOP/s"), "accept[0]", "no case", 9},
  };
}

class ExpandFaults : public ::testing::TestWithParam<Fault> {};

TEST_P(ExpandFaults, Error_HasFieldAndLine) {
  const Fault& fault = GetParam();
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  fault.spoil(spec);
  const auto expansion = ExpandCampaign(spec, ThreeNodes());
  ASSERT_FALSE(expansion.ok());
  EXPECT_EQ(expansion.status().code(), Code::kInvalidArgument);
  ASSERT_FALSE(expansion.status().violations().empty());
  bool found = false;
  for (const Violation& violation : expansion.status().violations()) {
    found = found || (violation.field == fault.field &&
                      violation.description.find(fault.text) != std::string::npos &&
                      (fault.line == 0 || violation.line == fault.line));
  }
  EXPECT_TRUE(found) << expansion.status();
}

INSTANTIATE_TEST_SUITE_P(All, ExpandFaults, ::testing::ValuesIn(Faults()),
                         [](const auto& info) { return info.param.name; });

TEST(ExpandFaultTest, AllErrors_AreReportedTogether) {
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.clear_name();
  spec.set_node_filter("name = z");
  AddAxis(First(spec), "dtype", {"bf17"});
  spec.add_accept()->set_text("nonsense");
  const auto expansion = ExpandCampaign(spec, ThreeNodes());
  ASSERT_FALSE(expansion.ok());
  EXPECT_THAT(expansion.status().violations(), SizeIs(4)) << expansion.status();
}

TEST(ExpandFaultTest, UnknownBenchmarks_ListTheKnownOnesOnce) {
  v1::CampaignSpec spec = MakeSpec("all_to_none");
  spec.add_benchmarks()->set_benchmark("elsewhere");
  spec.add_benchmarks()->set_benchmark("cpu_gem");
  const std::vector<Violation> faults = ExpandCampaign(spec, ThreeNodes()).status().violations();
  ASSERT_THAT(faults, SizeIs(3));
  EXPECT_THAT(faults[0].description, HasSubstr("\"all_to_none\"; use one of all_reduce, cpu_gemm"));
  EXPECT_EQ(faults[1].description, "no connected node has a benchmark \"elsewhere\"");
  EXPECT_EQ(faults[2].description,
            "no connected node has a benchmark \"cpu_gem\"; did you mean \"cpu_gemm\"?");
}

TEST(ExpandFaultTest, MoreThanHundredErrors_LastSaysSo) {
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  for (int i = 0; i < 101; ++i) spec.add_benchmarks()->set_benchmark("elsewhere");
  const std::vector<Violation> faults = ExpandCampaign(spec, ThreeNodes()).status().violations();
  ASSERT_THAT(faults, SizeIs(101));
  EXPECT_EQ(faults.back().description, kMoreErrors);
}

TEST(ExpandFaultTest, ExplodingMatrix_IsCountedButNotMade) {
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  for (int axis = 0; axis < 3; ++axis) {
    v1::ValueRange* range = First(spec).mutable_axes(axis)->mutable_range();
    range->set_from("1");
    range->set_to("65536");
    range->set_step("1");
  }
  const auto expansion = ExpandCampaign(spec, ThreeNodes());
  ASSERT_FALSE(expansion.ok());
  EXPECT_THAT(expansion.status().ToString(), HasSubstr("281474976710656 cases"));
}

TEST(ExpandFaultTest, FilterMatchesOnlyDisconnectedNodes_IsRefused) {
  std::vector<v1::Node> fleet = ThreeNodes();
  fleet.push_back(MakeFleetNode("d", '4', 0));
  fleet.back().set_state(v1::NODE_STATE_DISCONNECTED);
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_node_filter("name = d");
  const auto expansion = ExpandCampaign(spec, fleet);
  ASSERT_FALSE(expansion.ok());
  EXPECT_THAT(expansion.status().ToString(), HasSubstr("disconnected nodes match: d"));
}

}  // namespace
}  // namespace assay::coordinator
