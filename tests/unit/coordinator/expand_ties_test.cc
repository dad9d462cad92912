// Parameters that are tied together: what no node could run is refused before any job is made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coordinator/core/campaign/expand.h"
#include "tests/unit/coordinator/fleet_records.h"

namespace assay::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

v1::ParameterSchema& Parameter(v1::Node& node, const std::string& name) {
  for (v1::BenchmarkSchema& schema : *node.mutable_description()->mutable_benchmarks()) {
    if (schema.name() != "all_reduce") continue;
    for (v1::ParameterSchema& parameter : *schema.mutable_parameters()) {
      if (parameter.name() == name) return parameter;
    }
    return *AddParameter(schema, name, v1::PARAMETER_TYPE_INTEGER, 0, 1023);
  }
  ADD_FAILURE() << "no all_reduce";
  static v1::ParameterSchema none;
  return none;
}

// Two nodes of eight GPUs, whose all_reduce has a root, spreads evenly and takes whole fp64.
std::vector<v1::Node> Fleet() {
  std::vector<v1::Node> nodes = {MakeFleetNode("a", '1', 8), MakeFleetNode("b", '2', 8)};
  for (v1::Node& node : nodes) {
    Parameter(node, "ranks").mutable_multiple_of()->set_parameter("nodes");
    Parameter(node, "bytes").mutable_multiple_of()->set_number(8);
    v1::ParameterSchema& root = Parameter(node, "root");
    root.set_default_value("0");
    root.set_below("ranks");
  }
  return nodes;
}

// Of one entry, on line 4, whose axes stand on the lines that follow.
v1::CampaignSpec Spec(const std::vector<std::pair<std::string, std::vector<std::string>>>& axes) {
  v1::CampaignSpec spec = MakeSpec("all_reduce");
  int line = 4;
  for (const auto& [name, values] : axes)
    AddAxis(*spec.mutable_benchmarks(0), name, values, ++line);
  return spec;
}

// The only fault of `spec`.
Violation FaultOf(const v1::CampaignSpec& spec, const std::vector<v1::Node>& nodes = Fleet()) {
  const auto expansion = ExpandCampaign(spec, nodes);
  EXPECT_FALSE(expansion.ok());
  if (expansion.ok()) return {};
  EXPECT_THAT(expansion.status().violations(), SizeIs(1)) << expansion.status();
  return expansion.status().violations()[0];
}

TEST(ExpandTiesTest, ACaseThatKeepsThemIsAccepted) {
  const auto expansion = ExpandCampaign(
      Spec({{"ranks", {"2", "4"}}, {"root", {"0", "1"}}, {"bytes", {"8"}}}), Fleet());
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  EXPECT_EQ(expansion->case_runs, 8);
}

TEST(ExpandTiesTest, ABrokenOneIsNamedWithFieldAndLine) {
  Violation fault = FaultOf(Spec({{"ranks", {"2"}}, {"root", {"5"}}}));
  EXPECT_EQ(fault.field, "benchmarks[0].root");
  EXPECT_EQ(fault.line, 6);
  EXPECT_EQ(fault.description, "is 5; it must be below ranks, which is 2: 0 to 1");

  fault = FaultOf(Spec({{"ranks", {"3"}}, {"nodes", {"2"}}}));
  EXPECT_EQ(fault.field, "benchmarks[0].ranks");
  EXPECT_EQ(fault.line, 5);
  EXPECT_EQ(fault.description, "is 3; it must be a multiple of nodes, which is 2");

  fault = FaultOf(Spec({{"bytes", {"12"}}}));
  EXPECT_EQ(fault.field, "benchmarks[0].bytes");
  EXPECT_EQ(fault.description, "is 12; it must be a multiple of 8");

  v1::CampaignSpec skip = Spec({{"ranks", {"64"}}, {"root", {"64"}}});
  skip.set_unplaceable(v1::UNPLACEABLE_SKIP);
  EXPECT_EQ(FaultOf(skip).field, "benchmarks[0].root");
}

TEST(ExpandTiesTest, DefaultsAndValuesOfOthersAreHeldToThem) {
  // The default of `ranks`, 2.
  Violation fault = FaultOf(Spec({{"nodes", {"3"}}}));
  EXPECT_EQ(fault.field, "benchmarks[0].ranks");
  EXPECT_EQ(fault.line, 4);
  EXPECT_EQ(fault.description, "is 2; it must be a multiple of nodes, which is 3");

  v1::CampaignSpec same = Spec({{"ranks", {"4"}}, {"root", {}}});
  same.mutable_benchmarks(0)->mutable_axes(1)->set_same_as("ranks");
  fault = FaultOf(same);
  EXPECT_EQ(fault.field, "benchmarks[0].root");
  EXPECT_EQ(fault.line, 6);
  EXPECT_EQ(fault.description, "is 4; it must be below ranks, which is 4: 0 to 3");
}

TEST(ExpandTiesTest, AValueTakenFromAnotherIsHeldToItsBounds) {
  v1::CampaignSpec same = Spec({{"bytes", {"1MiB"}}, {"ranks", {}}});
  same.mutable_benchmarks(0)->mutable_axes(1)->set_same_as("bytes");
  const Violation fault = FaultOf(same);
  EXPECT_EQ(fault.field, "benchmarks[0].ranks");
  EXPECT_EQ(fault.line, 6);
  EXPECT_THAT(fault.description, HasSubstr("takes the value of bytes: \"1048576\" is not a whole"));
}

TEST(ExpandTiesTest, OneFaultTellsOfAllCombinationsThatAreWrong) {
  const Violation fault = FaultOf(Spec({{"ranks", {"2", "4", "8"}}, {"root", {"0", "3", "7"}}}));
  EXPECT_EQ(fault.field, "benchmarks[0].root");
  EXPECT_EQ(fault.description,
            "is 3; it must be below ranks, which is 2: 0 to 1 (3 of 9 cases; write an entry of its "
            "own for each combination)");
  // A size that fits nowhere is no matter of combinations.
  EXPECT_EQ(FaultOf(Spec({{"bytes", {"8", "12", "20"}}})).description,
            "is 12; it must be a multiple of 8 (2 of 3 cases)");
}

TEST(ExpandTiesTest, EveryTieAndEveryEntryIsToldAtOnce) {
  v1::CampaignSpec spec = Spec({{"ranks", {"2"}}, {"root", {"5"}}, {"bytes", {"12"}}});
  *spec.add_benchmarks() = Spec({{"bytes", {"20"}}}).benchmarks(0);
  *spec.add_benchmarks() = Spec({{"bytes", {"8"}}}).benchmarks(0);
  // A rule about cases that are refused is not wrong.
  spec.add_accept()->set_text("all_reduce[bytes=20].bus_bandwidth >= 1 GB/s");
  const auto expansion = ExpandCampaign(spec, Fleet());
  ASSERT_FALSE(expansion.ok());
  EXPECT_THAT(expansion.status().violations(), SizeIs(3)) << expansion.status();
}

TEST(ExpandTiesTest, AsManyCasesAsMayBeAreOneFault) {
  v1::CampaignSpec spec = Spec({{"ranks", {"2"}}});
  v1::ParameterAxis* const bytes = spec.mutable_benchmarks(0)->add_axes();
  bytes->set_name("bytes");
  bytes->mutable_range()->set_from("9");
  bytes->mutable_range()->set_to("80001");
  bytes->mutable_range()->set_step("8");
  EXPECT_EQ(FaultOf(spec).description, "is 9; it must be a multiple of 8");
}

TEST(ExpandTiesTest, NodesWhoseSchemaMakesNoSenseAreLeftOut) {
  std::vector<v1::Node> nodes = Fleet();
  Parameter(nodes[0], "root").set_below("root");
  EXPECT_EQ(FaultOf(Spec({{"root", {"2"}}}), nodes).description,
            "is 2; it must be below ranks, which is 2: 0 to 1");
  Parameter(nodes[1], "bytes").mutable_multiple_of()->set_number(0);
  EXPECT_THAT(FaultOf(Spec({}), nodes).description,
              HasSubstr("no connected node has a benchmark \"all_reduce\""));
}

// A node of GPUs whose gemm multiplies bf16 as nt alone and has at most 32 rows for fp16.
std::vector<v1::Node> GemmNode() {
  std::vector<v1::Node> nodes = {MakeFleetNode("a", '1', 8)};
  for (v1::BenchmarkSchema& schema : *nodes[0].mutable_description()->mutable_benchmarks()) {
    if (schema.name() != "gemm") continue;
    v1::ParameterSchema* const layout =
        AddParameter(schema, "layout", v1::PARAMETER_TYPE_WORD, 0, 0);
    for (const char* word : {"nn", "nt"}) layout->add_words(word);
    layout->set_default_value("nn");
    const auto limit = [](v1::ParameterSchema* parameter, const char* dtype) {
      v1::ParameterLimit* const added = parameter->add_limits();
      added->add_when()->set_parameter("dtype");
      added->mutable_when(0)->add_values(dtype);
      return added;
    };
    limit(layout, "bf16")->add_values("nt");
    limit(schema.mutable_parameters(0), "fp16")->set_maximum(32);
  }
  return nodes;
}

v1::CampaignSpec GemmSpec(const std::vector<std::string>& dtypes,
                          const std::vector<std::string>& layouts) {
  v1::CampaignSpec spec = MakeSpec("gemm");
  AddAxis(*spec.mutable_benchmarks(0), "dtype", dtypes, 5);
  if (!layouts.empty()) AddAxis(*spec.mutable_benchmarks(0), "layout", layouts, 6);
  return spec;
}

TEST(ExpandTiesTest, WordsThatExcludeEachOtherAreRefused) {
  EXPECT_TRUE(ExpandCampaign(GemmSpec({"bf16", "fp32"}, {"nt"}), GemmNode()).ok());

  Violation fault = FaultOf(GemmSpec({"bf16"}, {"nn"}), GemmNode());
  EXPECT_EQ(fault.field, "benchmarks[0].layout");
  EXPECT_EQ(fault.line, 6);
  EXPECT_EQ(fault.description, "is nn; it must be nt with dtype bf16");

  // The default, at the entry's line.
  fault = FaultOf(GemmSpec({"bf16"}, {}), GemmNode());
  EXPECT_EQ(fault.field, "benchmarks[0].layout");
  EXPECT_EQ(fault.line, 4);

  fault = FaultOf(GemmSpec({"fp32", "bf16"}, {"nn", "nt"}), GemmNode());
  EXPECT_EQ(fault.description,
            "is nn; it must be nt with dtype bf16 (1 of 4 cases; write an entry of its own for "
            "each combination)");
}

TEST(ExpandTiesTest, SizesThatAWordDoesNotTakeAreRefused) {
  const Violation fault = FaultOf(GemmSpec({"fp16"}, {}), GemmNode());
  EXPECT_EQ(fault.field, "benchmarks[0].m");
  EXPECT_EQ(fault.description, "is 64; it must be at most 32 with dtype fp16");
}

// As agents of earlier versions send it: their nodes find out.
TEST(ExpandTiesTest, ASchemaWithoutTiesRefusesNothing) {
  std::vector<v1::Node> nodes = Fleet();
  for (v1::Node& node : nodes) Parameter(node, "root").clear_below();
  EXPECT_TRUE(ExpandCampaign(Spec({{"root", {"5"}}}), nodes).ok());
}

}  // namespace
}  // namespace assay::coordinator
