// Schemas of benchmarks: what a runner declares arrives whole, and what makes no sense is refused.
#include "wire/benchmark_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/registry.h"
#include "runner/describe.h"

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

// Schema() whose bytes are at most 64 with dtype fp16 and at least 4 for each rank.
v1::BenchmarkSchema Limited() {
  v1::BenchmarkSchema schema = Schema();
  v1::ParameterSchema& bytes = *schema.mutable_parameters(2);
  bytes.set_minimum(0);
  v1::ParameterLimit& most = *bytes.add_limits();
  most.add_when()->set_parameter("dtype");
  most.mutable_when(0)->add_values("fp16");
  most.set_maximum(64);
  most.set_why("halves");
  v1::ParameterLimit& least = *bytes.add_limits();
  least.set_minimum(4);
  least.set_minimum_per("ranks");
  v1::ParameterLimit& product = *bytes.add_limits();
  product.set_maximum(1000);
  product.add_times("ranks");
  v1::ParameterLimit& never = *schema.mutable_parameters(4)->add_limits();
  never.add_values("false");
  return schema;
}

TEST(BenchmarkSchema, LimitsAreChecked) {
  EXPECT_TRUE(CompleteParameters(Limited(), Case("1", "64", "fp16")).ok());
  EXPECT_TRUE(CompleteParameters(Limited(), Case("1", "68", "fp32")).ok());
  EXPECT_THAT(CompleteParameters(Limited(), Case("1", "66", "fp16")).status().message(),
              HasSubstr("bytes: is 66; it must be at most 64 with dtype fp16: halves"));
  EXPECT_THAT(CompleteParameters(Limited(), Case("1", "4", "fp32")).status().message(),
              HasSubstr("bytes: is 4; it must be at least 8 (4 times ranks)"));
  EXPECT_THAT(CompleteParameters(Limited(), Case("1", "504", "fp32")).status().message(),
              HasSubstr("bytes: is 504; times ranks it must be at most 1000"));
  ParameterMap in_place = Case("1", "64", "fp16");
  in_place["in_place"] = "true";
  EXPECT_THAT(CompleteParameters(Limited(), in_place).status().message(),
              HasSubstr("in_place: is true; it must be false"));
  // What a newer version may ask for in another field.
  v1::BenchmarkSchema newer = Schema();
  newer.mutable_parameters(2)->add_limits();
  EXPECT_TRUE(CompleteParameters(newer, Case("1", "6", "fp16")).ok());
  // A condition of another kind than values: who cannot judge it leaves its limit to the node.
  v1::ParameterLimit& limit = *newer.mutable_parameters(2)->add_limits();
  limit.set_maximum(2);
  limit.add_when()->set_parameter("root");
  EXPECT_TRUE(CompleteParameters(newer, Case("1", "6", "fp16")).ok());
}

TEST(BenchmarkSchema, LimitsThatMakeNoSenseAreRefused) {
  using Limit = v1::ParameterLimit;
  const std::vector<std::pair<std::function<void(Limit&)>, std::string>> faults = {
      {[](Limit& l) { l.mutable_when(0)->set_parameter("type"); },
       "by \"type\", which is no parameter"},
      {[](Limit& l) { l.mutable_when(0)->set_parameter("bytes"); },
       "by \"bytes\", which is itself"},
      {[](Limit& l) { l.set_minimum(65); }, "limited to nothing: at least 65, at most 64"},
      {[](Limit& l) { l.mutable_when(0)->add_values("fp128"); }, "which never is \"fp128\""},
      {[](Limit& l) { l.add_values("08"); }, "is limited to \"08\", which it never is"},
      {[](Limit& l) { l.set_minimum_per("rank"); }, "\"rank\", which is no number of at least 1"},
      {[](Limit& l) {
         l.set_minimum(-1);
         l.set_minimum_per("ranks");
       },
       "limited to less than 0 for each of \"ranks\""},
      {[](Limit& l) { l.add_times("dtype"); }, "\"dtype\", which is no number of at least 1"},
      {[](Limit& l) { l.add_times("bytes"); }, "\"bytes\", which is no number of at least 1"},
  };
  for (const auto& [spoil, text] : faults) {
    v1::BenchmarkSchema schema = Limited();
    spoil(*schema.mutable_parameters(2)->mutable_limits(0));
    const auto specs = ParameterSpecs(schema);
    EXPECT_EQ(specs.status().reason(), "INVALID_SCHEMA") << text;
    EXPECT_THAT(specs.status().message(), HasSubstr(text));
  }
  v1::BenchmarkSchema negative = Limited();
  negative.mutable_parameters(2)->clear_minimum();
  EXPECT_THAT(ParameterSpecs(negative).status().message(), HasSubstr("may be less than 0"));
  v1::BenchmarkSchema word = Limited();
  word.mutable_parameters(4)->mutable_limits(0)->set_maximum(1);
  EXPECT_THAT(ParameterSpecs(word).status().message(), HasSubstr("is no number, and limited"));
}

TEST(BenchmarkSchema, WhatWouldTakeLongToCheckIsRefused) {
  const std::vector<std::function<void(v1::ParameterSchema&)>> faults = {
      [](auto& p) {
        for (int i = 0; i < 65; ++i) p.add_words("w" + std::to_string(i));
      },
      [](auto& p) {
        for (int i = 0; i < 65; ++i) p.add_limits();
      },
      [](auto& p) {
        for (int i = 0; i < 65; ++i) p.mutable_limits(0)->add_values("8");
      },
      [](auto& p) {
        for (int i = 0; i < 65; ++i) p.mutable_limits(0)->mutable_when(0)->add_values("a");
      },
      [](auto& p) {
        for (int i = 0; i < 17; ++i) p.mutable_limits(0)->add_when();
      },
      [](auto& p) {
        for (int i = 0; i < 17; ++i) p.mutable_limits(2)->add_times("ranks");
      },
      [](auto& p) { p.mutable_limits(0)->set_why(std::string(1001, 'x')); },
  };
  for (const auto& spoil : faults) {
    v1::BenchmarkSchema schema = Limited();
    spoil(*schema.mutable_parameters(2));
    EXPECT_THAT(ParameterSpecs(schema).status().message(),
                HasSubstr("parameter \"bytes\" has too many"));
  }
  v1::BenchmarkSchema schema = Limited();
  while (schema.parameters_size() < 65) schema.add_parameters()->set_name("p");
  EXPECT_THAT(ParameterSpecs(schema).status().message(), HasSubstr("too many parameters"));
}

auto FieldsOf(const Limit& limit) {
  return std::tie(limit.when, limit.values, limit.why, limit.minimum, limit.maximum,
                  limit.minimum_per, limit.times);
}

auto FieldsOf(const ParameterSpec& spec) {
  return std::tie(spec.name, spec.type, spec.description, spec.default_value, spec.minimum,
                  spec.maximum, spec.words, spec.below, spec.multiple_of.number,
                  spec.multiple_of.parameter, spec.multiple_of.of_words);
}

// What the benchmarks of `registry` declare is what arrives.
void ExpectWhole(const Registry& registry) {
  const v1::RunnerDescription description = DescribeBenchmarks(registry);
  for (const v1::BenchmarkSchema& schema : description.benchmarks()) {
    SCOPED_TRACE(schema.name());
    const auto arrived = ParameterSpecs(schema);
    ASSERT_TRUE(arrived.ok()) << arrived.status();
    const auto& declared = (*registry.Find(schema.name()))->Info().parameters;
    ASSERT_EQ(arrived->size(), declared.size());
    for (size_t i = 0; i < declared.size(); ++i) {
      EXPECT_TRUE(FieldsOf((*arrived)[i]) == FieldsOf(declared[i])) << declared[i].name;
      ASSERT_EQ((*arrived)[i].limits.size(), declared[i].limits.size()) << declared[i].name;
      for (size_t k = 0; k < declared[i].limits.size(); ++k) {
        EXPECT_TRUE(FieldsOf((*arrived)[i].limits[k]) == FieldsOf(declared[i].limits[k])) << k;
      }
    }
  }
}

TEST(BenchmarkSchema, WhatEveryBenchmarkDeclaresArrivesWhole) {
  ExpectWhole(BuiltinBenchmarks());
  int ties = 0;
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    for (const ParameterSpec& spec : benchmark->Info().parameters) {
      ties += spec.multiple_of.number > 1 ? 1 : 0;
    }
  }
  EXPECT_GE(ties, 2);  // cpu_memory_bandwidth and tcp_all_reduce are in every build.
}

// Has each kind of limit; benchmarks of CPUs, which are all that some builds have, have none.
class LimitedBenchmark : public Benchmark {
 public:
  LimitedBenchmark() {
    info_.name = "limited";
    ParameterSpec word = {"word", ParameterType::kWord, "a word", "b", {}, {}, {"a", "b"}};
    word.limits = {{.when = {{"n", {"1", "2"}}, {"k", {"3"}}}, .values = {"a", "b"}, .why = "so"},
                   {.values = {"b"}}};
    info_.parameters.push_back(word);
    for (const char* name : {"n", "k"}) {
      info_.parameters.push_back({name, ParameterType::kInteger, "a number", "4", 1, 9, {}});
    }
    info_.parameters.back().limits = {{.minimum = 1, .maximum = 7, .minimum_per = "n"},
                                      {.maximum = 30, .times = {"n", "k"}}};
  }
  const BenchmarkInfo& Info() const override { return info_; }
  Result<Work> WorkOf(const ParameterMap&, int) const override { return Work(); }
  Result<std::unique_ptr<assay::Case>> Prepare(const RunContext&) const override {
    return Unsupported("it declares and does nothing");
  }

 private:
  BenchmarkInfo info_;
};

TEST(BenchmarkSchema, LimitsArriveWhole) {
  Registry registry;
  registry.Add(std::make_unique<LimitedBenchmark>());
  ExpectWhole(registry);
}

}  // namespace
}  // namespace assay::schema
