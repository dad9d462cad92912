// Declares a benchmark: its name, parameters, metrics and work, but not the code that runs. A
// declaration compiles without CUDA, and is in a file NAME_declaration.cc next to the kernel. See
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

// The narrower values of a constraint; see Parameter::With.
struct Rule {
  std::vector<std::string> choices = {};
  std::optional<int64_t> maximum = {};
  int64_t multiple = 1;
};
Rule OneOf(std::vector<std::string> choices);
Rule AtMost(int64_t maximum);
Rule MultipleOf(int64_t multiple);

// Builds the description of one parameter of a benchmark:
//   Parameter::Bytes("size").Default("1GiB").AtLeast(8).AtMost(kMost).Describe("size of the array")
// Integer() and Bytes() require both bounds. Every parameter requires a description.
class Parameter {
 public:
  static Parameter Integer(std::string name);
  static Parameter Bytes(std::string name);
  static Parameter Boolean(std::string name);  // The default is false.
  // One of `choices`; the first is the default.
  static Parameter Choice(std::string name, std::vector<std::string> choices);

  // Users must give a number that has no default. `value` is as users write it: "1GiB".
  Parameter& Default(const std::string& value);
  Parameter& Default(int64_t value);
  Parameter& AtLeast(int64_t minimum) { return Set(&spec_.minimum, minimum); }
  Parameter& AtMost(int64_t maximum) { return Set(&spec_.maximum, maximum); }
  Parameter& MultipleOf(int64_t multiple) { return Set(&spec_.multiple, multiple); }
  // One line with the unit.
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

// One declaration. Every method but the constructor may be left out where its default fits.
class Declaration {
 public:
  using WorkFunction = std::function<Work(const ParameterMap& parameters, int world_size)>;
  using ValidateFunction = std::function<Status(const ParameterMap& parameters)>;

  Declaration(std::string name, Resource resource);

  // Raised when a change makes results incomparable with earlier ones. The default is 1.
  Declaration& Version(int version) { return Set(&info_.version, version); }
  Declaration& Summary(std::string summary) { return Set(&info_.summary, std::move(summary)); }
  // An integer parameter "ranks" sets how many ranks run.
  Declaration& Collective() { return Set(&info_.collective, true); }
  Declaration& Needs(Library library);
  Declaration& Parameters(std::vector<ParameterSpec> parameters) {
    return Set(&info_.parameters, std::move(parameters));
  }  // In the order of listings.
  // The first is the primary one. TimeMetric() is added at the end unless it is there.
  Declaration& Metrics(std::vector<Metric> metrics);
  // The formulas of FLOPs, bytes and predicted time, for users.
  Declaration& Model(std::string model) { return Set(&info_.model, std::move(model)); }
  // See BenchmarkInfo::prediction.
  Declaration& Prediction(std::string prediction) {
    return Set(&info_.prediction, std::move(prediction));
  }

  // The work of one iteration, from canonical and valid parameters. The default is no work.
  Declaration& WorkOf(WorkFunction work) { return Set(&work_, std::move(work)); }
  // Sets a function that checks rules which constraints cannot express, such as a limit on the
  // product of two parameters. It must return InvalidParameter() errors. Prefer constraints
  // (Parameter::With) where possible: those are checked as soon as a user submits a benchmark,
  // whereas this function is called only on the node that runs the benchmark.
  Declaration& Validate(ValidateFunction validate) { return Set(&validate_, std::move(validate)); }

  // A case that verifies within a second, and changes to it: see BenchmarkInfo.
  Declaration& SelfTest(ParameterMap parameters) {
    return Set(&info_.selftest_parameters, std::move(parameters));
  }
  Declaration& SelfTestAlso(ParameterMap changes);

  // Adds a test case for WorkOf(): a small set of parameters and its work, which must be computed
  // by hand. Add at least one example for each way in which the work is counted.
  Declaration& Example(ParameterMap parameters, Work work);
  // Adds a case that must be refused because of `parameter`, for a test.
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

// A benchmark made of its declaration and the code that prepares its cases.
class DeclaredBenchmark : public Benchmark {
 public:
  // See Benchmark::Prepare. Null if this build has no code for the benchmark.
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
