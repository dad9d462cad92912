// One entry of a campaign: the values of each axis, checked against the benchmark's schema, and
// their cross product.
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

namespace assay::coordinator {

// A range of an axis, `{from: 8, to: 8GiB, factor: 2}`, with valid bounds: from <= to, and a factor
// of at least 2 or a step of at least 1.
class NumberRange {
 public:
  // Parses a range. INVALID_ARGUMENT says which of from, to, factor and step is wrong and what
  // would be right. The parameter must be a number, and both ends must be within its bounds.
  static Result<NumberRange> Parse(const v1::ValueRange& range, const ParameterSpec& spec);

  // Returns the number of values without making them.
  int64_t count() const { return count_; }
  // Returns the values in ascending order, canonical.
  std::vector<std::string> Values() const;

 private:
  int64_t from_ = 0;
  int64_t to_ = 0;
  int64_t factor_ = 0;  // 0: step_ applies.
  int64_t step_ = 0;
  int64_t count_ = 0;
};

// The checked axes of an entry. Its cases are made on demand, so a count of billions costs nothing.
class Matrix {
 public:
  // Checks the axes of `spec` against `schema` and adds every error to `violations`, with `path`
  // ("benchmarks[1]") in front of its field. The matrix may be used only if there was no error.
  // The values of a range with more than `case_limit` values are not made.
  Matrix(const v1::BenchmarkMatrix& spec, const v1::BenchmarkSchema& schema, std::string path,
         int64_t case_limit, Violations& violations);

  // Returns the number of cases in the cross product, which may be beyond any integer type.
  double case_count() const { return case_count_; }

  // Returns the cases, canonical and complete; the first axis varies slowest. Call only when
  // case_count() is within the limit. Adds to `violations`, once each, parameters whose values
  // contradict other values of their case. Returns no cases if a parameter takes the value of
  // another (`=m`) that is outside its own bounds.
  std::vector<ParameterMap> Cases(Violations& violations) const;

 private:
  struct Axis {
    std::string name;
    std::vector<std::string> values;  // Canonical.
  };
  // `spec` takes the value of `source`, which is an axis or has a fixed value.
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

}  // namespace assay::coordinator
