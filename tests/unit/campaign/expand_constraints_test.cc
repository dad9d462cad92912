// Tests constraints between parameters: cases that no node could run are refused before any job
// exists.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "campaign/expand.h"
#include "tests/unit/campaign/fleet_records.h"
#include "tests/wording.h"

namespace assay::campaign {
namespace {

using ::testing::SizeIs;

v1::BenchmarkSchema& Schema(v1::Node& node, const std::string& name) {
  for (v1::BenchmarkSchema& schema : *node.mutable_description()->mutable_benchmarks()) {
    if (schema.name() == name) return schema;
  }
  ADD_FAILURE() << "no " << name;
  static v1::BenchmarkSchema none;
  return none;
}

// Returns two nodes with eight GPUs each. gemm needs layout nt with dtype bf16, and at most 32 rows
// with fp16.
std::vector<v1::Node> Fleet() {
  std::vector<v1::Node> nodes = {MakeFleetNode("a", '1', 8), MakeFleetNode("b", '2', 8)};
  for (v1::Node& node : nodes) {
    v1::BenchmarkSchema& gemm = Schema(node, "gemm");
    v1::ParameterSchema* const layout =
        AddParameter(gemm, "layout", v1::PARAMETER_TYPE_CHOICE, 0, 0);
    for (const char* choice : {"nn", "nt"}) layout->add_choices(choice);
    layout->set_default_value("nn");
    const auto with_dtype = [](v1::ParameterSchema* parameter, const char* dtype) {
      v1::ParameterConstraint* const added = parameter->add_constraints();
      added->set_parameter("dtype");
      added->add_values(dtype);
      return added;
    };
    with_dtype(layout, "bf16")->add_choices("nt");
    with_dtype(gemm.mutable_parameters(0), "fp16")->set_maximum(32);
  }
  return nodes;
}

using Axes = std::vector<std::pair<std::string, std::vector<std::string>>>;

// Returns a campaign of one entry on line 4. Its axes are on the lines that follow.
v1::CampaignSpec Spec(const char* benchmark, const Axes& axes) {
  v1::CampaignSpec spec = MakeSpec(benchmark);
  int line = 4;
  for (const auto& [name, values] : axes) {
    AddAxis(*spec.mutable_benchmarks(0), name, values, ++line);
  }
  return spec;
}

// Returns the only violation of `spec`.
Violation ViolationOf(const v1::CampaignSpec& spec, const std::vector<v1::Node>& nodes = Fleet()) {
  const auto expansion = ExpandCampaign(spec, nodes);
  EXPECT_FALSE(expansion.ok());
  if (expansion.ok()) return {};
  EXPECT_THAT(expansion.status().violations(), SizeIs(1)) << expansion.status();
  return expansion.status().violations()[0];
}

TEST(ExpandConstraintsTest, CaseThatMeetsConstraints_IsAccepted) {
  const v1::CampaignSpec spec = Spec("gemm", {{"dtype", {"bf16", "fp32"}}, {"layout", {"nt"}}});
  EXPECT_TRUE(ExpandCampaign(spec, Fleet()).ok());
}

TEST(ExpandConstraintsTest, Violation_HasFieldAndLine) {
  const Violation violation = ViolationOf(Spec("gemm", {{"dtype", {"bf16"}}, {"layout", {"nn"}}}));
  EXPECT_EQ(violation.field, "benchmarks[0].layout");
  EXPECT_EQ(violation.line, 6);
  EXPECT_WORDING("campaign/constraint", violation.description);
}

TEST(ExpandConstraintsTest, Defaults_AreChecked) {
  Violation violation = ViolationOf(Spec("gemm", {{"dtype", {"bf16"}}}));
  EXPECT_EQ(violation.field, "benchmarks[0].layout");
  EXPECT_EQ(violation.line, 4);
  violation = ViolationOf(Spec("gemm", {{"dtype", {"fp16"}}}));
  EXPECT_EQ(violation.field, "benchmarks[0].m");
}

TEST(ExpandConstraintsTest, CombinationsOfOneParameter_AreOneViolation) {
  const Violation violation =
      ViolationOf(Spec("gemm", {{"dtype", {"fp32", "bf16"}}, {"layout", {"nn", "nt"}}}));
  EXPECT_EQ(violation.field, "benchmarks[0].layout");
  EXPECT_WORDING("campaign/constraint-combinations", violation.description);
}

TEST(ExpandConstraintsTest, ErrorsOfAllEntries_AreReportedTogether) {
  v1::CampaignSpec spec = Spec("gemm", {{"dtype", {"bf16"}}});
  *spec.add_benchmarks() = Spec("gemm", {{"dtype", {"fp16"}}}).benchmarks(0);
  *spec.add_benchmarks() = Spec("gemm", {{"dtype", {"fp32"}}}).benchmarks(0);
  // A rule that covers only refused cases is not an error of its own.
  spec.add_accept()->set_text("gemm[dtype=fp16].tflops >= 1 TFLOP/s");
  const auto expansion = ExpandCampaign(spec, Fleet());
  ASSERT_FALSE(expansion.ok());
  EXPECT_THAT(expansion.status().violations(), SizeIs(2)) << expansion.status();
}

TEST(ExpandConstraintsTest, ReferencedValue_MustBeWithinBounds) {
  v1::CampaignSpec same = Spec("all_reduce", {{"bytes", {"1MiB"}}, {"ranks", {}}});
  same.mutable_benchmarks(0)->mutable_axes(1)->set_same_as("bytes");
  const Violation violation = ViolationOf(same);
  EXPECT_EQ(violation.field, "benchmarks[0].ranks");
  EXPECT_EQ(violation.line, 6);
}

TEST(ExpandConstraintsTest, MalformedSchema_IsIgnored) {
  const v1::CampaignSpec spec = Spec("gemm", {{"dtype", {"fp32"}}});
  std::vector<v1::Node> nodes = Fleet();
  Schema(nodes[0], "gemm").mutable_parameters(0)->set_multiple(0);
  EXPECT_TRUE(ExpandCampaign(spec, nodes).ok());
  Schema(nodes[1], "gemm").mutable_parameters(0)->set_multiple(0);
  EXPECT_EQ(ViolationOf(spec, nodes).field, "benchmarks[0]");
}

}  // namespace
}  // namespace assay::campaign
