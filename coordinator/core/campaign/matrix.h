// One benchmark's matrix of a campaign: the values of each axis, checked against the
// benchmark's schema, and their cross product.
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

// A matrix whose axes have been checked. Its cases are made on demand, so a count of billions costs
// nothing.
class Matrix {
 public:
  // Checks the axes of `spec` against `schema` and adds every error to `violations`, with `path`
  // ("benchmarks[1]") in front of its field. The result may be used only if there was no error.
  static Matrix Check(const v1::BenchmarkMatrix& spec, const v1::BenchmarkSchema& schema,
                      const std::string& path, int64_t case_limit, Violations& violations);

  // Returns the number of cases in the cross product; saturates at INT64_MAX.
  int64_t case_count() const { return case_count_; }

  // Returns the cases, canonical and complete; the first axis varies slowest. Call only when
  // case_count() is within bounds. Adds to `violations`, once each, parameters whose values
  // contradict other values of their case. Returns no cases if a parameter takes the value of
  // another (`=m`) that is outside its own bounds.
  std::vector<ParameterMap> Cases(Violations& violations) const;

 private:
  struct Axis {
    std::string name;
    std::vector<std::string> values;  // Canonical.
  };
  // `name` takes the value of `source`, which is an axis or has a fixed value.
  struct Reference {
    ParameterSpec spec;
    std::string source;
  };

  void CheckConstraints(const std::vector<ParameterMap>& cases, Violations& violations) const;
  void AddFault(const std::string& name, std::string fault, Violations& violations) const;

  std::string path_;
  int line_ = 0;
  std::map<std::string, int> lines_;  // Line of each parameter that has an axis.
  std::vector<ParameterSpec> specs_;
  std::vector<Axis> axes_;
  std::vector<Reference> references_;  // Sources come before their users.
  ParameterMap fixed_;                 // Defaults of parameters without an axis.
  int64_t case_count_ = 0;

  friend class MatrixChecker;
};

}  // namespace assay::coordinator
