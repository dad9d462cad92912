// Ranges of a campaign's axes: `{from: 8, to: 8GiB, factor: 2}`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "common/status.h"
#include "model/parameter.h"

namespace assay::coordinator {

// A range with valid bounds: from <= to, and a factor of at least 2 or a step of at least 1.
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

}  // namespace assay::coordinator
