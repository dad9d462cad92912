// Declares a benchmark: its name, parameters, metrics and work, but not the code that runs. A
// declaration compiles without CUDA and lives in NAME_declaration.cc, next to the kernel. See
// kernels/README.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/benchmark.h"

namespace assay {

// The restriction that a constraint puts on a parameter's value; see Parameter::With().
struct Rule {
  std::vector<std::string> choices = {};
  std::optional<int64_t> maximum = {};
  int64_t multiple = 1;
};
Rule OneOf(std::vector<std::string> choices);
Rule AtMost(int64_t maximum);
Rule MultipleOf(int64_t multiple);

// A builder for the description of one parameter of a benchmark:
//   Parameter::Bytes("size").Default("1GiB").AtLeast(8).AtMost(kMost).Describe("size of the array")
// Integer() and Bytes() require both bounds. Every parameter requires a description.
class Parameter {
 public:
  static Parameter Integer(std::string name);
  static Parameter Bytes(std::string name);
  static Parameter Boolean(std::string name);  // The default is false.
  // A parameter whose value is one of `choices`. The first choice is the default.
  static Parameter Choice(std::string name, std::vector<std::string> choices);

  // Sets the default value, written as users would write it, such as "1GiB". If a number has no
  // default, users must provide a value.
  Parameter& Default(const std::string& value);
  Parameter& Default(int64_t value);
  Parameter& AtLeast(int64_t minimum) { return Set(&spec_.minimum, minimum); }
  Parameter& AtMost(int64_t maximum) { return Set(&spec_.maximum, maximum); }
  Parameter& MultipleOf(int64_t multiple) { return Set(&spec_.multiple, multiple); }
  // Sets the description, which is one line and includes the unit.
  Parameter& Describe(std::string description) {
    return Set(&spec_.description, std::move(description));
  }
  // Restricts this parameter further when the parameter `other` has one of `values`:
  //   .With("variant", {"warp"}, AtMost(32), "one lane per column")
  // The optional `reason` is shown to users.
  Parameter& With(std::string other, std::vector<std::string> values, Rule rule,
                  std::string reason = "");

  operator ParameterSpec() const { return spec_; }  // NOLINT: implicit on purpose

 private:
  Parameter(std::string name, ParameterType type);
  template <typename Field, typename Value>
  Parameter& Set(Field* field, Value value) {
    *field = std::move(value);
    return *this;
  }

  ParameterSpec spec_;
};

// The declaration of one benchmark. Calls of methods may be omitted where their defaults are right.
class Declaration {
 public:
  using WorkFunction = std::function<Work(const ParameterMap& parameters, int world_size)>;
  using ValidateFunction = std::function<Status(const ParameterMap& parameters)>;

  Declaration(std::string name, Resource resource);

  // Sets the version, which must be incremented when a change to the benchmark makes new results
  // incomparable with earlier ones. The default is 1.
  Declaration& Version(int version) { return Set(&info_.version, version); }
  Declaration& Summary(std::string summary) { return Set(&info_.summary, std::move(summary)); }
  // Declares that the integer parameter "ranks" sets the number of ranks.
  Declaration& Collective() { return Set(&info_.collective, true); }
  Declaration& Needs(Library library);
  Declaration& Parameters(std::vector<ParameterSpec> parameters) {
    return Set(&info_.parameters, std::move(parameters));
  }  // In the order of listings.
  // Sets the metrics, of which the first is the primary one. TimeMetric() is appended unless
  // `metrics` contains it.
  Declaration& Metrics(std::vector<Metric> metrics);
  // Sets the text that shows users the formulas for FLOPs, bytes and predicted time.
  Declaration& Model(std::string model) { return Set(&info_.model, std::move(model)); }
  // See BenchmarkInfo::prediction.
  Declaration& Prediction(std::string prediction) {
    return Set(&info_.prediction, std::move(prediction));
  }

  // Sets the function that computes the work of one iteration from valid parameters in canonical
  // form. By default, an iteration has no work.
  Declaration& WorkOf(WorkFunction work) { return Set(&work_, std::move(work)); }
  // Sets a function that checks rules that constraints (Parameter::With) cannot express, such as a
  // limit on the product of two parameters. It must return InvalidParameter() errors. Prefer
  // constraints where possible: they are checked as soon as a user submits a benchmark, whereas
  // this function is called only on the node that runs it.
  Declaration& Validate(ValidateFunction validate) { return Set(&validate_, std::move(validate)); }

  // Sets a small case for the self-test and changes to it; see BenchmarkInfo.
  Declaration& SelfTest(ParameterMap parameters) {
    return Set(&info_.selftest_parameters, std::move(parameters));
  }
  Declaration& SelfTestAlso(ParameterMap changes);

  // Adds a test case for WorkOf(): a small set of parameters and the expected work, computed by
  // hand. Add at least one for each way of counting the work.
  Declaration& Example(ParameterMap parameters, Work work);
  // Adds a test case with invalid parameters. The error must name `parameter`.
  Declaration& Refuses(ParameterMap parameters, std::string parameter);

 private:
  friend class DeclaredBenchmark;

  template <typename Field, typename Value>
  Declaration& Set(Field* field, Value value) {
    *field = std::move(value);
    return *this;
  }

  BenchmarkInfo info_;
  WorkFunction work_;
  ValidateFunction validate_;
};

// A benchmark that consists of its declaration and the code that prepares its cases.
class DeclaredBenchmark : public Benchmark {
 public:
  // Implements Benchmark::Prepare(). Null if this build does not contain the benchmark's code.
  using CaseFactory = Result<std::unique_ptr<Case>> (*)(const RunContext& context);
  // Computes Benchmark::UnsupportedReason.
  using ReasonFunction = std::string (*)(const BenchmarkInfo& info);

  DeclaredBenchmark(Declaration declaration, CaseFactory new_case, ReasonFunction unsupported);

  const BenchmarkInfo& Info() const override { return declaration_.info_; }
  std::string UnsupportedReason() const override { return unsupported_(Info()); }
  Status Validate(const ParameterMap& parameters) const override;
  Result<Work> WorkOf(const ParameterMap& parameters, int world_size) const override;
  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override;

 private:
  const Declaration declaration_;
  const CaseFactory new_case_;
  const ReasonFunction unsupported_;
};

}  // namespace assay
