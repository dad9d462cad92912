// The alpha-beta model of communication time (Hockney 1994): moving S bytes takes alpha + S / beta
// seconds, where alpha is a latency and beta a bandwidth. Once fitted to measured times, the model
// predicts the times for other sizes and the size up to which latency dominates.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

namespace assay {

struct SizedTime {
  double bytes = 0;  // S as the user names it.
  double seconds = 0;
};

struct AlphaBeta {
  double latency_seconds = 0;  // alpha; 0 if times are proportional to the size.
  double bandwidth = 0;        // beta, in bytes per second.
  // The typical relative error of the model: the median of |predicted / measured - 1| over all
  // sizes, each predicted by a model fitted to the other sizes. Values of a few tenths are common,
  // because NCCL uses different algorithms and protocols for different sizes.
  double error = 0;
  int points = 0;
  double smallest_bytes = 0;  // Smallest and
  double largest_bytes = 0;   // largest fitted size.

  // Returns true if the model can be used for this size, that is, within a factor of 8 of the
  // fitted sizes. Predictions farther away are unreliable: small sizes say little about the
  // bandwidth, and large sizes say little about the latency.
  bool Covers(double bytes) const {
    return bytes >= smallest_bytes / 8 && bytes <= largest_bytes * 8;
  }
  double Seconds(double bytes) const { return latency_seconds + bytes / bandwidth; }
  // Returns true if `seconds` exceeds the prediction by more than the model's inaccuracy can
  // explain. The limit is high, (1 + max(1, 6 * error)) times the predicted time, because even
  // healthy hardware deviates: on two healthy H200s, an all-reduce of 1 MiB took 1.6 times the
  // predicted time, although `error` was 0.05. Returns false for sizes outside the fitted range.
  bool LeavesUnexplained(double bytes, double seconds) const {
    constexpr double kLeast = 1;
    constexpr double kErrors = 6;
    const bool between = bytes >= smallest_bytes && bytes <= largest_bytes;
    return between && seconds > Seconds(bytes) * (1 + std::max(kLeast, kErrors * error));
  }
  // Returns the size in bytes at which latency accounts for half of the time. Making messages much
  // smaller than this hardly makes them faster.
  double KneeBytes() const { return latency_seconds * bandwidth; }
};

// Fits the model to measured times, minimizing relative errors, because the times span six orders
// of magnitude. Returns nullopt if there are fewer than three sizes, if all sizes are within a
// factor of 8, if times do not grow with size, or if any number is not positive.
std::optional<AlphaBeta> FitAlphaBeta(const std::vector<SizedTime>& points);

}  // namespace assay
