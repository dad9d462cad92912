// One benchmark's matrix of a campaign: the values of each axis, checked against the
// benchmark's schema, and their cross product.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "assay/v1/benchmark.pb.h"
#include "assay/v1/campaign_service.pb.h"
#include "model/parameter.h"
#include "common/status.h"
#include "common/violations.h"

namespace assay::coordinator {

// A matrix whose axes have been checked. Its cases are not made yet, so that a count
// of billions costs nothing.
class Matrix {
 public:
  // Checks the axes of `spec` against `schema`; every fault goes to `violations`, with
  // `path` ("benchmarks[1]") in front of its field. The result is of use only if none
  // was found.
  static Matrix Check(const v1::BenchmarkMatrix& spec, const v1::BenchmarkSchema& schema,
                      const std::string& path, int64_t case_limit, Violations& violations);

  // Cases of the cross product; saturates at INT64_MAX.
  int64_t case_count() const { return case_count_; }

  // The cases, canonical and complete, the first axis varying slowest. Call only when
  // case_count() is within bounds. To `violations` go parameters whose values in some case are
  // wrong beside the others, each once; and a value taken from another parameter that is
  // outside the bounds of the one that takes it: then there are no cases.
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

  void CheckTies(const std::vector<ParameterMap>& cases, Violations& violations) const;
  void AddFault(const std::string& name, std::string fault, Violations& violations) const;

  std::string path_;
  int line_ = 0;
  std::map<std::string, int> lines_;  // Of each parameter that has an axis.
  std::vector<ParameterSpec> specs_;
  std::vector<Axis> axes_;
  std::vector<Reference> references_;  // Sources come before those that use them.
  ParameterMap fixed_;                 // Defaults of parameters without an axis.
  int64_t case_count_ = 0;

  friend class MatrixChecker;
};

}  // namespace assay::coordinator
