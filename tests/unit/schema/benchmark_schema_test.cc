// Schemas of benchmarks: what a runner declares arrives whole, and what makes no sense is refused.
#include "schema/benchmark_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/runner/convert.h"

namespace assay::schema {
namespace {

using testing::HasSubstr;

// A gang's number of ranks, one of them, and bytes that are elements of a type.
v1::BenchmarkSchema Schema() {
  v1::BenchmarkSchema schema;
  schema.set_name("broadcast");
  const auto add = [&schema](const char* name, v1::ParameterType type) {
    v1::ParameterSchema* const parameter = schema.add_parameters();
    parameter->set_name(name);
    parameter->set_type(type);
    return parameter;
  };
  add("ranks", v1::PARAMETER_TYPE_INTEGER)->set_minimum(2);
  v1::ParameterSchema* const root = add("root", v1::PARAMETER_TYPE_INTEGER);
  root->set_minimum(0);
  root->set_below("ranks");
  v1::MultipleOf& of = *add("bytes", v1::PARAMETER_TYPE_BYTES)->mutable_multiple_of();
  of.set_number(2);
  of.set_parameter("dtype");
  (*of.mutable_of_words())["fp32"] = 4;
  (*of.mutable_of_words())["fp128"] = 16;
  v1::ParameterSchema* const dtype = add("dtype", v1::PARAMETER_TYPE_WORD);
  dtype->add_words("fp16");
  dtype->add_words("fp32");
  add("in_place", v1::PARAMETER_TYPE_BOOLEAN);
  return schema;
}

ParameterMap Case(const std::string& root, const std::string& bytes, const std::string& dtype) {
  return {
      {"ranks", "2"}, {"root", root}, {"bytes", bytes}, {"dtype", dtype}, {"in_place", "false"}};
}

TEST(BenchmarkSchema, TiesAreChecked) {
  EXPECT_TRUE(CompleteParameters(Schema(), Case("1", "6", "fp16")).ok());
  const Status status = CompleteParameters(Schema(), Case("2", "6", "fp32")).status();
  ASSERT_EQ(status.violations().size(), 2U) << status;
  EXPECT_EQ(status.violations()[0].field, "root");
  EXPECT_EQ(status.violations()[0].description, "is 2; it must be below ranks, which is 2: 0 to 1");
  EXPECT_EQ(status.violations()[1].field, "bytes");
  EXPECT_EQ(status.violations()[1].description, "is 6; it must be a multiple of 4 with dtype fp32");
}

// As agents of earlier versions send them.
TEST(BenchmarkSchema, WithoutTiesNothingIsTied) {
  v1::BenchmarkSchema schema = Schema();
  for (v1::ParameterSchema& parameter : *schema.mutable_parameters()) {
    parameter.clear_below();
    parameter.clear_multiple_of();
  }
  EXPECT_TRUE(CompleteParameters(schema, Case("7", "5", "fp32")).ok());
}

TEST(BenchmarkSchema, TiesThatMakeNoSenseAreRefused) {
  using Root = v1::ParameterSchema;
  using Bytes = v1::MultipleOf;
  const std::vector<std::pair<std::function<void(Root&, Bytes&)>, std::string>> faults = {
      {[](Root& r, Bytes&) { r.set_below("rank"); }, "\"root\" is to be below \"rank\""},
      {[](Root& r, Bytes&) { r.set_below("root"); }, "\"root\" is to be below \"root\""},
      {[](Root& r, Bytes&) { r.set_below("dtype"); }, "\"root\" is to be below \"dtype\""},
      {[](Root&, Bytes& b) { b.set_number(0); }, "\"bytes\" is to be a multiple of 0"},
      {[](Root&, Bytes& b) { b.set_number(-4); }, "\"bytes\" is to be a multiple of -4"},
      {[](Root&, Bytes& b) { (*b.mutable_of_words())["fp16"] = 0; }, "asks for a multiple of 0"},
      {[](Root&, Bytes& b) { b.clear_parameter(); }, "for words of no parameter"},
      {[](Root&, Bytes& b) { b.set_parameter("type"); }, "\"type\", which is no parameter"},
      {[](Root&, Bytes& b) { b.clear_of_words(); }, "\"dtype\", which is neither"},
      {[](Root&, Bytes& b) { b.set_parameter("ranks"); }, "\"ranks\", which has no words"},
      {[](Root&, Bytes& b) { b.set_parameter("in_place"); }, "\"in_place\", which is neither"},
      {[](Root&, Bytes& b) {
         b.set_parameter("bytes");
         b.clear_of_words();
       },
       "\"bytes\", which is itself"},
      {[](Root&, Bytes& b) {
         b.set_parameter("root");
         b.clear_of_words();
       },
       "\"root\", which may be less than 1"},
  };
  for (const auto& [spoil, text] : faults) {
    v1::BenchmarkSchema schema = Schema();
    spoil(*schema.mutable_parameters(1), *schema.mutable_parameters(2)->mutable_multiple_of());
    const auto specs = ParameterSpecs(schema);
    EXPECT_EQ(specs.status().reason(), "INVALID_SCHEMA") << text;
    EXPECT_THAT(specs.status().message(), HasSubstr(text));
  }
  for (const int word_or_boolean : {3, 4}) {
    v1::BenchmarkSchema schema = Schema();
    schema.mutable_parameters(word_or_boolean)->set_below("ranks");
    EXPECT_THAT(ParameterSpecs(schema).status().message(), HasSubstr("is no number, and tied"));
  }
}

TEST(BenchmarkSchema, WhatEveryBenchmarkDeclaresArrivesWhole) {
  const v1::RunnerDescription description = DescribeBenchmarks(BuiltinBenchmarks());
  int ties = 0;
  for (const v1::BenchmarkSchema& schema : description.benchmarks()) {
    SCOPED_TRACE(schema.name());
    const auto arrived = ParameterSpecs(schema);
    ASSERT_TRUE(arrived.ok()) << arrived.status();
    const auto& declared = (*BuiltinBenchmarks().Find(schema.name()))->Info().parameters;
    ASSERT_EQ(arrived->size(), declared.size());
    for (size_t i = 0; i < declared.size(); ++i) {
      const auto all = [](const ParameterSpec& spec) {
        return std::tie(spec.name, spec.type, spec.description, spec.default_value, spec.minimum,
                        spec.maximum, spec.words, spec.below, spec.multiple_of.number,
                        spec.multiple_of.parameter, spec.multiple_of.of_words);
      };
      EXPECT_TRUE(all((*arrived)[i]) == all(declared[i])) << declared[i].name;
      ties += declared[i].multiple_of.number > 1 ? 1 : 0;
    }
  }
  EXPECT_GE(ties, 2);  // cpu_memory_bandwidth and tcp_all_reduce are in every build.
}

}  // namespace
}  // namespace assay::schema
