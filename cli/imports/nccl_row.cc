#include "cli/imports/nccl_row.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <string>

#include "cli/imports/checked_text.h"

namespace assay::imports {
namespace {

// Where the number may lie that was printed, or that follows from printed ones.
struct Range {
  double low = 0;
  double high = 0;

  bool Meets(const Range& other) const { return low <= other.high && other.low <= high; }
};

// Roundings of the arithmetic here and there.
constexpr double kSlack = 1e-9;

Range RangeOf(const Printed& number) {
  const double error = 1.01 * number.error + kSlack * number.value;
  return {std::max(0.0, number.value - error), number.value + error};
}

Range Times(const Range& range, double factor) { return {range.low * factor, range.high * factor}; }

// GB/s of `bytes` in microseconds.
Range BandwidthOf(int64_t bytes, const Range& microseconds) {
  const auto per = [&](double time) {
    if (bytes == 0) return 0.0;
    return time > 0 ? static_cast<double>(bytes) / time * 1e-3
                    : std::numeric_limits<double>::infinity();
  };
  return {per(microseconds.high), per(microseconds.low)};
}

std::string Text(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

// The two ways to tell it: printed, or `factor` times bytes by time.
std::optional<double> Better(const Printed& printed, double factor, const NcclRow& row,
                             const Printed& time, bool* computed) {
  // From three digits on it stays as people read it in the file.
  constexpr double kFewDigits = 0.005;
  const double printed_error = printed.error / printed.value;  // inf where 0 is printed.
  if (printed.value > 0 && printed_error <= kFewDigits) return printed.value;
  const double value = factor * static_cast<double>(row.bytes) / time.value * 1e-3;
  if (!(value > 0)) return std::nullopt;
  if (printed.value > 0 && printed_error <= time.error / time.value) return printed.value;
  *computed = true;
  return value;
}

Status CheckTiming(const NcclRow& row, const NcclTiming& timing, const Collective& collective,
                   int ranks, const std::string& place) {
  const Printed& time = timing.microseconds;
  const Printed& algorithm = timing.algorithm_bandwidth;
  const Printed& bus = timing.bus_bandwidth;
  const auto fault = [&](const std::string& what) {
    return FaultAt(row.where, place + ", " + what + ": a column was changed or is of another row");
  };
  if (row.bytes > 0 && time.value <= 0) {
    return fault("a time of 0 us for " + std::to_string(row.bytes) + " bytes; expected more");
  }
  const Range expected = BandwidthOf(row.bytes, RangeOf(time));
  if (!RangeOf(algorithm).Meets(expected)) {
    return fault("algbw is " + Text(algorithm.value) + " GB/s, and " + std::to_string(row.bytes) +
                 " bytes in " + Text(time.value) + " us are " +
                 Text(row.bytes == 0 ? 0 : static_cast<double>(row.bytes) / time.value * 1e-3) +
                 " GB/s");
  }
  const double factor = BusFactor(collective, ranks);
  const Range bus_range = RangeOf(bus);
  if (bus_range.Meets(Times(RangeOf(algorithm), factor)) &&
      bus_range.Meets(Times(expected, factor))) {
    return Status::Ok();
  }
  return fault("busbw is " + Text(bus.value) + " GB/s, and algbw " + Text(algorithm.value) +
               " GB/s times " + Text(factor) + " (" + std::string(collective.benchmark) + " on " +
               std::to_string(ranks) + " ranks) is " + Text(algorithm.value * factor) + " GB/s");
}

}  // namespace

Status CheckRow(const NcclRow& row, const Collective& collective, int ranks) {
  ASSAY_ASSIGN_OR_RETURN(const ElementType* type, TypeOf(row));
  // In 64 bits, whatever the count: 8 bytes and 4,096 ranks at the most.
  const int64_t unit = int64_t{type->bytes} * (collective.shared ? ranks : 1);
  if (row.bytes % unit != 0 || row.bytes / unit != row.count) {
    return FaultAt(
        row.where,
        "size is " + std::to_string(row.bytes) + " bytes, and count " + std::to_string(row.count) +
            " of " + std::to_string(type->bytes) + " bytes (" + row.type + ")" +
            (collective.shared ? " on " + std::to_string(ranks) + " ranks" : "") + " makes " +
            Text(static_cast<double>(row.count) * static_cast<double>(unit)) +
            ": a column was changed, or the test is not " + std::string(collective.benchmark));
  }
  ASSAY_RETURN_IF_ERROR(CheckTiming(row, row.out_of_place, collective, ranks, "out of place"));
  return CheckTiming(row, row.in_place, collective, ranks, "in place");
}

NcclBandwidths BandwidthsOf(const NcclRow& row, const NcclTiming& timing,
                            const Collective& collective, int ranks) {
  NcclBandwidths told;
  const Printed& time = timing.microseconds;
  told.algorithm = Better(timing.algorithm_bandwidth, 1, row, time, &told.computed);
  if (ranks > 1) {
    const double factor = BusFactor(collective, ranks);
    told.bus = Better(timing.bus_bandwidth, factor, row, time, &told.computed);
  }
  return told;
}

}  // namespace assay::imports
