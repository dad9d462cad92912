// Tests the text of `assay results` for every benchmark that assay-runner declares.
#include "cli/views/result_text.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "common/units.h"
#include "tests/contract/described_runner.h"

namespace assay {
namespace {

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Returns a value that differs from the parameter's default.
std::string AnotherValue(const v1::ParameterSchema& parameter) {
  for (const std::string& choice : parameter.choices()) {
    if (choice != parameter.default_value()) return choice;
  }
  if (parameter.type() == v1::PARAMETER_TYPE_BOOLEAN) {
    return parameter.default_value() == "true" ? "false" : "true";
  }
  return parameter.default_value() == "3" ? "5" : "3";
}

// Returns the default as results record it: sizes in bytes.
std::string DefaultOf(const v1::ParameterSchema& parameter) {
  const Result<int64_t> bytes = ParseBytes(parameter.default_value());
  const bool is_bytes = parameter.type() == v1::PARAMETER_TYPE_BYTES && bytes.ok();
  return is_bytes ? std::to_string(*bytes) : parameter.default_value();
}

TEST(ParametersText, ShowsValuesThatDifferFromTheDefault) {
  const std::set<std::string> columns = {"cache", "fill", "launch"};
  const v1::RunnerDescription runner = Described();
  for (const v1::BenchmarkSchema& schema : runner.benchmarks()) {
    v1::CaseResult usual;
    usual.set_benchmark(schema.name());
    for (const v1::ParameterSchema& parameter : schema.parameters()) {
      (*usual.mutable_parameters())[parameter.name()] = DefaultOf(parameter);
    }
    for (const v1::ParameterSchema& parameter : schema.parameters()) {
      SCOPED_TRACE(schema.name() + " " + parameter.name());
      v1::CaseResult other = usual;
      (*other.mutable_parameters())[parameter.name()] = AnotherValue(parameter);
      const std::string said = ParametersText(other);
      if (columns.count(parameter.name()) > 0) {
        EXPECT_EQ(said, ParametersText(usual));
      } else {
        EXPECT_TRUE(Contains(said, AnotherValue(parameter))) << said;
        EXPECT_NE(said, ParametersText(usual));
      }
    }
  }
}

TEST(ParametersText, OmitsUninterestingDefaults) {
  const v1::RunnerDescription runner = Described();
  for (const v1::BenchmarkSchema& schema : runner.benchmarks()) {
    v1::CaseResult usual;
    for (const v1::ParameterSchema& parameter : schema.parameters()) {
      (*usual.mutable_parameters())[parameter.name()] = DefaultOf(parameter);
    }
    for (const char* name : {"accumulate", "aggregate", "api",     "batch", "causal", "chunks",
                             "collective", "ctas",      "engine",  "from",  "group",  "in_place",
                             "layout",     "mode",      "nodes",   "numa",  "policy", "root",
                             "seconds",    "streams",   "threads", "to",    "wait",   "window"}) {
      EXPECT_FALSE(Contains(ParametersText(usual), std::string(name) + "="))
          << schema.name() << " " << name;
    }
  }
}

}  // namespace
}  // namespace assay
