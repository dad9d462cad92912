#include "coordinator/core/campaign/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "common/text.h"
#include "coordinator/core/campaign/value_range.h"
#include "wire/benchmark_schema.h"

namespace assay::coordinator {
namespace {

int64_t SaturatingProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

}  // namespace

// Builds a Matrix; each method is one step.
class MatrixChecker {
 public:
  MatrixChecker(std::string path, int line, int64_t case_limit, Violations& violations)
      : path_(std::move(path)), line_(line), case_limit_(case_limit), violations_(violations) {
    matrix_.path_ = path_;
    matrix_.line_ = line_;
  }

  Matrix Check(const v1::BenchmarkMatrix& spec, const v1::BenchmarkSchema& schema) {
    Result<std::vector<ParameterSpec>> specs = schema::ParameterSpecs(schema);
    if (!specs.ok()) {
      violations_.Add(path_, specs.status().message(), line_);
      return std::move(matrix_);
    }
    matrix_.specs_ = *std::move(specs);
    matrix_.case_count_ = 1;
    for (const v1::ParameterAxis& axis : spec.axes()) AddAxis(axis);
    AddDefaults(schema.name());
    OrderReferences();
    return std::move(matrix_);
  }

 private:
  const ParameterSpec* SpecOf(const std::string& name) const {
    const std::vector<ParameterSpec>& specs = matrix_.specs_;
    const auto found = std::find_if(specs.begin(), specs.end(),
                                    [&](const ParameterSpec& spec) { return spec.name == name; });
    return found == specs.end() ? nullptr : &*found;
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const ParameterSpec& spec : matrix_.specs_) names.push_back(spec.name);
    return names;
  }

  void AddAxis(const v1::ParameterAxis& axis) {
    const std::string field = path_ + "." + Cut(axis.name());
    const int line = axis.line() > 0 ? axis.line() : line_;
    const ParameterSpec* spec = SpecOf(axis.name());
    if (spec == nullptr) {
      violations_.Add(field, "no such parameter; " + Suggest(axis.name(), Names()), line);
      return;
    }
    if (!matrix_.lines_.emplace(axis.name(), line).second) {
      violations_.Add(field, "stands twice; write one list of values", line);
      return;
    }
    switch (axis.values_case()) {
      case v1::ParameterAxis::kList:
        return AddList(axis.list(), *spec, field, line);
      case v1::ParameterAxis::kRange:
        return AddRange(axis.range(), *spec, field, line);
      case v1::ParameterAxis::kSameAs:
        unresolved_.push_back({*spec, axis.same_as()});
        return;
      case v1::ParameterAxis::VALUES_NOT_SET:
        violations_.Add(field, "has no value; it takes " + AllowedValues(*spec), line);
        return;
    }
  }

  void AddList(const v1::ValueList& list, const ParameterSpec& spec, const std::string& field,
               int line) {
    if (list.values().empty()) {
      violations_.Add(field, "the list is empty; it takes " + AllowedValues(spec), line);
      return;
    }
    matrix_.case_count_ = SaturatingProduct(matrix_.case_count_, list.values_size());
    Matrix::Axis axis{spec.name, {}};
    std::set<std::string> seen;
    for (int i = 0; i < list.values_size(); ++i) {
      const std::string at = fmt::format("{}[{}]", field, i);
      const Result<std::string> value = CanonicalValue(spec, list.values(i));
      if (!value.ok()) {
        violations_.Add(at, value.status().message(), line);
      } else if (!seen.insert(*value).second) {
        violations_.Add(at, "\"" + Cut(list.values(i)) + "\" stands twice in the list", line);
      } else {
        axis.values.push_back(*value);
      }
    }
    matrix_.axes_.push_back(std::move(axis));
  }

  void AddRange(const v1::ValueRange& range, const ParameterSpec& spec, const std::string& field,
                int line) {
    const Result<NumberRange> parsed = NumberRange::Parse(range, spec);
    if (!parsed.ok()) {
      violations_.Add(field, parsed.status().message(), line);
      return;
    }
    matrix_.case_count_ = SaturatingProduct(matrix_.case_count_, parsed->count());
    // A range beyond the limit is refused by its count; its values are never made.
    if (parsed->count() > case_limit_) return;
    matrix_.axes_.push_back({spec.name, parsed->Values()});
  }

  void AddDefaults(const std::string& benchmark) {
    for (const ParameterSpec& spec : matrix_.specs_) {
      if (matrix_.lines_.count(spec.name) > 0) continue;
      if (spec.default_value) {
        matrix_.fixed_[spec.name] = *spec.default_value;
      } else {
        violations_.Add(path_ + "." + spec.name, benchmark + " needs it: " + AllowedValues(spec),
                        line_);
      }
    }
  }

  // Follows each `=other` to an axis or a default, so that sources come before their users.
  void OrderReferences() {
    std::map<std::string, std::string> source_of;
    for (const Matrix::Reference& reference : unresolved_) {
      source_of[reference.spec.name] = reference.source;
    }
    for (Matrix::Reference& reference : unresolved_) {
      const std::string field = path_ + "." + reference.spec.name;
      const int line = matrix_.lines_[reference.spec.name];
      std::string chain = reference.spec.name;
      std::string source = reference.source;
      std::set<std::string> seen = {reference.spec.name};
      while (source_of.count(source) > 0 && seen.insert(source).second) {
        chain += " = " + source;
        source = source_of[source];
      }
      if (SpecOf(source) == nullptr) {
        violations_.Add(field,
                        "takes the value of \"" + Cut(source) + "\", which is no parameter; " +
                            Suggest(source, Names()),
                        line);
      } else if (source_of.count(source) > 0) {
        violations_.Add(field, "refers to itself: " + chain + " = " + source, line);
      } else {
        matrix_.references_.push_back({reference.spec, source});
      }
    }
  }

  const std::string path_;
  const int line_;
  const int64_t case_limit_;
  Violations& violations_;
  std::vector<Matrix::Reference> unresolved_;
  Matrix matrix_;
};

Matrix Matrix::Check(const v1::BenchmarkMatrix& spec, const v1::BenchmarkSchema& schema,
                     const std::string& path, int64_t case_limit, Violations& violations) {
  return MatrixChecker(path, spec.line(), case_limit, violations).Check(spec, schema);
}

std::vector<ParameterMap> Matrix::Cases(Violations& violations) const {
  std::vector<ParameterMap> cases;
  cases.reserve(static_cast<size_t>(case_count_));
  std::vector<size_t> at(axes_.size(), 0);
  for (int64_t i = 0; i < case_count_; ++i) {
    ParameterMap parameters = fixed_;
    for (size_t axis = 0; axis < axes_.size(); ++axis) {
      parameters[axes_[axis].name] = axes_[axis].values[at[axis]];
    }
    for (const Reference& reference : references_) {
      const Result<std::string> value =
          CanonicalValue(reference.spec, parameters[reference.source]);
      if (!value.ok()) {
        AddFault(
            reference.spec.name,
            fmt::format("takes the value of {}: {}", reference.source, value.status().message()),
            violations);
        return {};
      }
      parameters[reference.spec.name] = *value;
    }
    cases.push_back(std::move(parameters));
    for (size_t axis = axes_.size(); axis-- > 0;) {
      if (++at[axis] < axes_[axis].values.size()) break;
      at[axis] = 0;
    }
  }
  CheckConstraints(cases, violations);
  return cases;
}

void Matrix::CheckConstraints(const std::vector<ParameterMap>& cases,
                              Violations& violations) const {
  for (const ParameterSpec& spec : specs_) {
    std::string first;
    std::string value;  // Value in the first wrong case.
    size_t wrong = 0;
    std::set<std::string> right;  // Values that are valid in some case.
    for (const ParameterMap& parameters : cases) {
      std::string fault = ConstraintError(spec, parameters);
      if (fault.empty()) {
        right.insert(parameters.at(spec.name));
      } else if (++wrong == 1) {
        first = std::move(fault);
        value = parameters.at(spec.name);
      }
    }
    if (wrong == 0) continue;
    if (wrong < cases.size()) {
      first += fmt::format(" ({} of {} cases", wrong, cases.size());
      first += right.count(value) == 0 ? ")" : "; write an entry of its own for each combination)";
    }
    AddFault(spec.name, std::move(first), violations);
  }
}

void Matrix::AddFault(const std::string& name, std::string fault, Violations& violations) const {
  const auto given = lines_.find(name);
  violations.Add(path_ + "." + name, std::move(fault),
                 given == lines_.end() ? line_ : given->second);
}

}  // namespace assay::coordinator
