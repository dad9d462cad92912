// Schemas of benchmarks: what a runner declares arrives whole, and what makes no sense is refused.
#include "wire/benchmark_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/registry.h"
#include "runner/commands.h"

namespace assay::schema {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Bytes that are elements of a type: a multiple of 4 up to 64 with fp32.
v1::BenchmarkSchema Schema() {
  v1::BenchmarkSchema schema;
  schema.set_name("broadcast");
  const auto add = [&schema](const char* name, v1::ParameterType type) {
    v1::ParameterSchema* const parameter = schema.add_parameters();
    parameter->set_name(name);
    parameter->set_type(type);
    return parameter;
  };
  v1::ParameterSchema* const bytes = add("bytes", v1::PARAMETER_TYPE_BYTES);
  bytes->set_multiple(2);
  v1::ParameterConstraint* const constraint = bytes->add_constraints();
  constraint->set_parameter("dtype");
  constraint->add_values("fp32");
  constraint->set_multiple(4);
  constraint->set_maximum(64);
  v1::ParameterSchema* const dtype = add("dtype", v1::PARAMETER_TYPE_CHOICE);
  dtype->add_choices("fp16");
  dtype->add_choices("fp32");
  v1::ParameterSchema* const in_place = add("in_place", v1::PARAMETER_TYPE_BOOLEAN);
  in_place->add_constraints()->set_parameter("dtype");
  in_place->mutable_constraints(0)->add_values("fp16");
  in_place->mutable_constraints(0)->add_choices("false");
  return schema;
}

// The parameters that a case of Schema() is refused for.
std::vector<std::string> Refused(const char* bytes, const char* dtype, const char* in_place) {
  const Status status =
      CompleteParameters(Schema(), {{"bytes", bytes}, {"dtype", dtype}, {"in_place", in_place}})
          .status();
  std::vector<std::string> names;
  for (const Violation& violation : status.violations()) names.push_back(violation.field);
  return names;
}

TEST(BenchmarkSchema, MultiplesAndConstraintsAreChecked) {
  EXPECT_THAT(Refused("64", "fp32", "true"), IsEmpty());
  EXPECT_THAT(Refused("66", "fp16", "false"), IsEmpty());
  EXPECT_THAT(Refused("65", "fp16", "false"), ElementsAre("bytes"));
  EXPECT_THAT(Refused("62", "fp32", "false"), ElementsAre("bytes"));
  EXPECT_THAT(Refused("68", "fp32", "false"), ElementsAre("bytes"));
  EXPECT_THAT(Refused("64", "fp16", "true"), ElementsAre("in_place"));
}

using Spoil = std::function<void(v1::ParameterSchema&)>;

// Expects that Schema() is refused once its parameter `index` is spoiled.
void ExpectRefused(int index, const Spoil& spoil, const char* what) {
  v1::BenchmarkSchema schema = Schema();
  spoil(*schema.mutable_parameters(index));
  EXPECT_EQ(ParameterSpecs(schema).status().reason(), Reason::kInvalidSchema) << what;
}

TEST(BenchmarkSchema, ConstraintsThatMakeNoSenseAreRefused) {
  const auto constraint = [](v1::ParameterSchema& parameter) {
    return parameter.mutable_constraints(0);
  };
  const std::vector<std::pair<const char*, Spoil>> mistakes = {
      {"unknown parameter", [&](auto& p) { constraint(p)->set_parameter("type"); }},
      {"itself", [&](auto& p) { constraint(p)->set_parameter("bytes"); }},
      {"impossible value", [&](auto& p) { constraint(p)->add_values("fp128"); }},
      {"impossible choice", [&](auto& p) { constraint(p)->add_choices("08"); }},
      {"multiple of 0", [&](auto& p) { constraint(p)->set_multiple(0); }},
      {"multiple below 0", [&](auto& p) { constraint(p)->set_multiple(-4); }},
      {"own multiple of 0", [&](auto& p) { p.set_multiple(0); }},
  };
  for (const auto& [what, spoil] : mistakes) ExpectRefused(0, spoil, what);
  ExpectRefused(
      2, [&](auto& p) { constraint(p)->set_maximum(1); }, "maximum of a boolean");
  ExpectRefused(
      1, [](auto& p) { p.clear_choices(); }, "no choices");
  ExpectRefused(
      1, [](auto& p) { p.set_name("bytes"); }, "name declared twice");
  ExpectRefused(
      1, [](auto& p) { p.clear_name(); }, "no name");
}

TEST(BenchmarkSchema, SchemasThatTakeLongToCheckAreRefused) {
  const std::vector<Spoil> mistakes = {
      [](auto& p) {
        for (int i = 0; i < 65; ++i) p.add_choices("w" + std::to_string(i));
      },
      [](auto& p) {
        for (int i = 0; i < 65; ++i) p.add_constraints();
      },
      [](auto& p) {
        for (int i = 0; i < 65; ++i) p.mutable_constraints(0)->add_values("fp32");
      },
      [](auto& p) {
        for (int i = 0; i < 65; ++i) p.mutable_constraints(0)->add_choices("8");
      },
      [](auto& p) { p.mutable_constraints(0)->set_reason(std::string(1001, 'x')); },
  };
  for (const Spoil& spoil : mistakes) ExpectRefused(0, spoil, "too large");
  v1::BenchmarkSchema schema = Schema();
  while (schema.parameters_size() < 65) schema.add_parameters()->set_name("p");
  EXPECT_EQ(ParameterSpecs(schema).status().reason(), Reason::kInvalidSchema);
}

auto FieldsOf(const Constraint& constraint) {
  return std::tie(constraint.parameter, constraint.values, constraint.choices, constraint.maximum,
                  constraint.multiple, constraint.reason);
}

auto FieldsOf(const ParameterSpec& spec) {
  return std::tie(spec.name, spec.type, spec.description, spec.default_value, spec.minimum,
                  spec.maximum, spec.choices, spec.multiple);
}

TEST(BenchmarkSchema, DeclarationsArriveWhole) {
  const Registry& registry = BuiltinBenchmarks();
  const v1::RunnerDescription description = DescribeBenchmarks(registry);
  size_t constraints = 0;
  for (const v1::BenchmarkSchema& schema : description.benchmarks()) {
    SCOPED_TRACE(schema.name());
    const auto arrived = ParameterSpecs(schema);
    ASSERT_TRUE(arrived.ok()) << arrived.status();
    const auto& declared = (*registry.Find(schema.name()))->Info().parameters;
    ASSERT_EQ(arrived->size(), declared.size());
    for (size_t i = 0; i < declared.size(); ++i) {
      EXPECT_TRUE(FieldsOf((*arrived)[i]) == FieldsOf(declared[i])) << declared[i].name;
      ASSERT_EQ((*arrived)[i].constraints.size(), declared[i].constraints.size());
      for (size_t k = 0; k < declared[i].constraints.size(); ++k) {
        EXPECT_TRUE(FieldsOf((*arrived)[i].constraints[k]) == FieldsOf(declared[i].constraints[k]));
        ++constraints;
      }
    }
  }
  EXPECT_GE(constraints, 2u);  // Those of softmax are in every build.
}

}  // namespace
}  // namespace assay::schema
