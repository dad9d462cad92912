#include "coordinator/core/campaign/value_range.h"

#include <fmt/format.h>

#include "common/units.h"

namespace assay::coordinator {
namespace {

Result<int64_t> ParseEnd(const std::string& which, const std::string& text,
                         const ParameterSpec& spec) {
  if (text.empty()) return InvalidArgument("a range needs \"" + which + "\"");
  const Result<std::string> canonical = CanonicalValue(spec, text);
  if (!canonical.ok()) return canonical.status().WithContext(which);
  return ParseInteger(*canonical);
}

// Factor and step are plain counts, except that the step of a size may be written as a size.
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
                               : "a range has either \"factor\" or \"step\", not both");
  }
  NumberRange parsed;
  ASSAY_ASSIGN_OR_RETURN(parsed.from_, ParseEnd("from", range.from(), spec));
  ASSAY_ASSIGN_OR_RETURN(parsed.to_, ParseEnd("to", range.to(), spec));
  if (parsed.from_ > parsed.to_) {
    return InvalidArgument(fmt::format("from ({}) is above to ({})", range.from(), range.to()));
  }
  if (!range.step().empty()) {
    ASSAY_ASSIGN_OR_RETURN(parsed.step_, ParseStride("step", range.step(), spec, 1));
    // Unsigned, because the span of two int64 may not fit an int64.
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

}  // namespace assay::coordinator
