// Expands one benchmark entry of a campaign file into cases. The entry lists values for each
// parameter, and every combination of them is one case.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "assay/v1/benchmark.pb.h"
#include "assay/v1/campaign_service.pb.h"
#include "common/status.h"
#include "common/violations.h"
#include "model/parameter.h"

namespace assay::campaign {

// A range of parameter values in a campaign file, such as {from: 8, to: 8GiB, factor: 2}. Always
// valid: from <= to, and either factor >= 2 or step >= 1.
class NumberRange {
 public:
  // Parses a range of values for the parameter described by `spec`. The parameter must be an
  // integer or a size in bytes, and both ends of the range must be within its bounds. Otherwise,
  // returns INVALID_ARGUMENT with the name of the invalid field and the allowed values.
  static Result<NumberRange> Parse(const v1::ValueRange& range, const ParameterSpec& spec);

  // Returns the number of values without creating them.
  int64_t count() const { return count_; }
  // Returns the values in ascending order, in canonical form.
  std::vector<std::string> Values() const;

 private:
  int64_t from_ = 0;
  int64_t to_ = 0;
  int64_t factor_ = 0;  // 0: step_ applies.
  int64_t step_ = 0;
  int64_t count_ = 0;
};

// The checked parameter values of one benchmark entry in a campaign file. Only Cases() creates
// their combinations (the cases), so a matrix with billions of them uses little memory.
class Matrix {
 public:
  // Checks the parameter values in `spec` against the benchmark's `schema`, and appends all errors
  // to `violations`. Each error's field starts with `path`, such as "benchmarks[1]". If there are
  // any errors, the matrix must not be used. Ranges with more than `case_limit` values are not
  // expanded.
  Matrix(const v1::BenchmarkMatrix& spec, const v1::BenchmarkSchema& schema, std::string path,
         int64_t case_limit, Violations& violations);

  // Returns the number of cases (combinations of parameter values) as a double, because it may
  // exceed the range of any integer type.
  double case_count() const { return case_count_; }

  // Returns the parameters of every case (every combination of values). The first-listed parameter
  // varies slowest. Call this only if case_count() is within the limit. Appends one error for each
  // parameter whose values conflict with others in the same case. If a parameter copies another one
  // (such as `n: =m`) and would get a value outside its own bounds, returns no cases.
  std::vector<ParameterMap> Cases(Violations& violations) const;

 private:
  struct Axis {
    std::string name;
    std::vector<std::string> values;  // Canonical.
  };
  // `spec` gets the value of `source`, a parameter that has listed values or a fixed one.
  struct Reference {
    ParameterSpec spec;
    std::string source;
  };

  const ParameterSpec* SpecOf(const std::string& name) const;
  std::string SuggestParameter(const std::string& name) const;
  void AddAxis(const v1::ParameterAxis& axis, int64_t case_limit, Violations& violations);
  void AddList(const v1::ValueList& list, const ParameterSpec& spec, Violations& violations);
  void AddRange(const v1::ValueRange& range, const ParameterSpec& spec, int64_t case_limit,
                Violations& violations);
  void AddDefaults(Violations& violations);
  void ResolveReferences(Violations& violations);
  void CheckConstraints(const std::vector<ParameterMap>& cases, Violations& violations) const;
  void AddError(const std::string& name, std::string error, Violations& violations) const;

  std::string path_;
  int line_ = 0;
  std::map<std::string, int> lines_;  // Line of each parameter that has an axis.
  std::vector<ParameterSpec> specs_;
  std::vector<Axis> axes_;
  std::vector<Reference> references_;
  ParameterMap fixed_;  // Defaults of parameters without an axis.
  double case_count_ = 0;
};

}  // namespace assay::campaign
