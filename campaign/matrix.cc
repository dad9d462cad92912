#include "campaign/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/text.h"
#include "common/units.h"
#include "wire/benchmark_schema.h"

namespace assay::campaign {
namespace {

Result<int64_t> ParseEnd(const std::string& which, const std::string& text,
                         const ParameterSpec& spec) {
  if (text.empty()) return InvalidArgument("a range needs \"" + which + "\"");
  const Result<std::string> canonical = CanonicalValue(spec, text);
  if (!canonical.ok()) return canonical.status().WithContext(which);
  return ParseInteger(*canonical);
}

// Parses the factor or the step of a range of parameter values. Both are plain numbers, except that
// the step of a range of sizes may also have a unit, such as "4KiB".
Result<int64_t> ParseStride(const std::string& which, const std::string& text,
                            const ParameterSpec& spec, int64_t least) {
  const bool size = spec.type == ParameterType::kBytes && which == "step";
  const Result<int64_t> number = size ? ParseBytes(text) : ParseInteger(text);
  if (!number.ok()) return number.status().WithContext(which);
  if (*number < least) {
    return InvalidArgument(fmt::format("{}: {} must be at least {}", which, *number, least));
  }
  return number;
}

}  // namespace

Result<NumberRange> NumberRange::Parse(const v1::ValueRange& range, const ParameterSpec& spec) {
  if (spec.type != ParameterType::kInteger && spec.type != ParameterType::kBytes) {
    return InvalidArgument("a range needs a number; this parameter is " + AllowedValues(spec));
  }
  if (range.factor().empty() == range.step().empty()) {
    return InvalidArgument(range.factor().empty()
                               ? "a range needs \"factor\" or \"step\""
                               : "a range takes \"factor\" or \"step\", not both");
  }
  NumberRange parsed;
  ASSAY_ASSIGN_OR_RETURN(parsed.from_, ParseEnd("from", range.from(), spec));
  ASSAY_ASSIGN_OR_RETURN(parsed.to_, ParseEnd("to", range.to(), spec));
  if (parsed.from_ > parsed.to_) {
    return InvalidArgument(fmt::format("from: {} is above to: {}", range.from(), range.to()));
  }
  if (!range.step().empty()) {
    ASSAY_ASSIGN_OR_RETURN(parsed.step_, ParseStride("step", range.step(), spec, 1));
    // Unsigned, because the difference of two int64 may not fit in an int64.
    const uint64_t span = static_cast<uint64_t>(parsed.to_) - static_cast<uint64_t>(parsed.from_);
    const uint64_t steps = span / static_cast<uint64_t>(parsed.step_);
    parsed.count_ =
        steps >= static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(steps) + 1;
    return parsed;
  }
  ASSAY_ASSIGN_OR_RETURN(parsed.factor_, ParseStride("factor", range.factor(), spec, 2));
  if (parsed.from_ < 1) {
    return InvalidArgument(
        fmt::format("from: {} must be at least 1 where a factor is used", range.from()));
  }
  for (int64_t value = parsed.from_;; value *= parsed.factor_) {
    ++parsed.count_;
    if (value > parsed.to_ / parsed.factor_) break;
  }
  return parsed;
}

std::vector<std::string> NumberRange::Values() const {
  std::vector<std::string> values;
  values.reserve(static_cast<size_t>(count_));
  int64_t value = from_;
  for (int64_t i = 0; i < count_; ++i) {
    values.push_back(std::to_string(value));
    if (i + 1 < count_) value = factor_ > 0 ? value * factor_ : value + step_;
  }
  return values;
}

Matrix::Matrix(const v1::BenchmarkMatrix& spec, const v1::BenchmarkSchema& schema, std::string path,
               int64_t case_limit, Violations& violations)
    : path_(std::move(path)), line_(spec.line()) {
  Result<std::vector<ParameterSpec>> specs = schema::ParameterSpecs(schema);
  if (!specs.ok()) {
    violations.Add(path_, specs.status().message(), line_);
    return;
  }
  specs_ = *std::move(specs);
  case_count_ = 1;
  for (const v1::ParameterAxis& axis : spec.axes()) AddAxis(axis, case_limit, violations);
  AddDefaults(violations);
  ResolveReferences(violations);
}

const ParameterSpec* Matrix::SpecOf(const std::string& name) const {
  const auto found = std::find_if(specs_.begin(), specs_.end(),
                                  [&](const ParameterSpec& spec) { return spec.name == name; });
  return found == specs_.end() ? nullptr : &*found;
}

std::string Matrix::SuggestParameter(const std::string& name) const {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : specs_) names.push_back(spec.name);
  return Suggest(name, names);
}

void Matrix::AddAxis(const v1::ParameterAxis& axis, int64_t case_limit, Violations& violations) {
  const std::string& name = axis.name();
  const int line = axis.line() > 0 ? axis.line() : line_;
  const ParameterSpec* spec = SpecOf(name);
  if (spec == nullptr) {
    violations.Add(path_ + "." + Cut(name), "no such parameter; " + SuggestParameter(name), line);
    return;
  }
  if (!lines_.emplace(name, line).second) {
    violations.Add(path_ + "." + name, "given twice; write one list of values", line);
    return;
  }
  switch (axis.values_case()) {
    case v1::ParameterAxis::kList:
      return AddList(axis.list(), *spec, violations);
    case v1::ParameterAxis::kRange:
      return AddRange(axis.range(), *spec, case_limit, violations);
    case v1::ParameterAxis::kSameAs:
      references_.push_back({*spec, axis.same_as()});
      return;
    case v1::ParameterAxis::VALUES_NOT_SET:
      AddError(name, "has no value; it takes " + AllowedValues(*spec), violations);
      return;
  }
}

void Matrix::AddList(const v1::ValueList& list, const ParameterSpec& spec, Violations& violations) {
  if (list.values().empty()) {
    return AddError(spec.name, "the list is empty; it takes " + AllowedValues(spec), violations);
  }
  case_count_ *= list.values_size();
  Axis axis{spec.name, {}};
  std::set<std::string> seen;
  for (int i = 0; i < list.values_size(); ++i) {
    const std::string at = fmt::format("{}.{}[{}]", path_, spec.name, i);
    const Result<std::string> value = CanonicalValue(spec, list.values(i));
    if (!value.ok()) {
      violations.Add(at, value.status().message(), lines_[spec.name]);
    } else if (!seen.insert(*value).second) {
      violations.Add(at, Quote(list.values(i)) + " is given twice", lines_[spec.name]);
    } else {
      axis.values.push_back(*value);
    }
  }
  axes_.push_back(std::move(axis));
}

void Matrix::AddRange(const v1::ValueRange& range, const ParameterSpec& spec, int64_t case_limit,
                      Violations& violations) {
  const Result<NumberRange> parsed = NumberRange::Parse(range, spec);
  if (!parsed.ok()) return AddError(spec.name, parsed.status().message(), violations);
  case_count_ *= static_cast<double>(parsed->count());
  if (parsed->count() <= case_limit) axes_.push_back({spec.name, parsed->Values()});
}

void Matrix::AddDefaults(Violations& violations) {
  for (const ParameterSpec& spec : specs_) {
    if (lines_.count(spec.name) > 0) continue;
    if (spec.default_value) {
      fixed_[spec.name] = *spec.default_value;
    } else {
      AddError(spec.name, "is missing; it must be " + AllowedValues(spec), violations);
    }
  }
}

// Follows each `=other`, through further references, to a parameter that has values of its own.
void Matrix::ResolveReferences(Violations& violations) {
  std::map<std::string, std::string> source_of;
  for (const Reference& reference : references_) source_of[reference.spec.name] = reference.source;
  for (auto& [spec, source] : references_) {
    std::string chain = spec.name;
    std::set<std::string> seen = {spec.name};
    while (source_of.count(source) > 0 && seen.insert(source).second) {
      chain += " = " + source;
      source = source_of[source];
    }
    if (SpecOf(source) == nullptr) {
      AddError(spec.name,
               "takes the value of " + Quote(source) + ", which is not a parameter; " +
                   SuggestParameter(source),
               violations);
    } else if (source_of.count(source) > 0) {
      AddError(spec.name, "refers to itself: " + chain + " = " + source, violations);
    }
  }
}

std::vector<ParameterMap> Matrix::Cases(Violations& violations) const {
  std::vector<ParameterMap> cases;
  const auto count = static_cast<size_t>(case_count_);
  cases.reserve(count);
  std::vector<size_t> at(axes_.size(), 0);  // Index of the current value of each axis.
  while (cases.size() < count) {
    ParameterMap parameters = fixed_;
    for (size_t axis = 0; axis < axes_.size(); ++axis) {
      parameters[axes_[axis].name] = axes_[axis].values[at[axis]];
    }
    for (const Reference& reference : references_) {
      const Result<std::string> value =
          CanonicalValue(reference.spec, parameters[reference.source]);
      if (!value.ok()) {
        AddError(
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
      std::string error = ConstraintError(spec, parameters);
      if (error.empty()) {
        right.insert(parameters.at(spec.name));
      } else if (++wrong == 1) {
        first = std::move(error);
        value = parameters.at(spec.name);
      }
    }
    if (wrong == 0) continue;
    if (wrong < cases.size()) {
      first += fmt::format(" ({} of {} cases", wrong, cases.size());
      first += right.count(value) == 0 ? ")" : "; write an entry of its own for each combination)";
    }
    AddError(spec.name, std::move(first), violations);
  }
}

void Matrix::AddError(const std::string& name, std::string error, Violations& violations) const {
  const auto given = lines_.find(name);
  violations.Add(path_ + "." + name, std::move(error),
                 given == lines_.end() ? line_ : given->second);
}

}  // namespace assay::campaign
