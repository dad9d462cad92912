// The alpha-beta model of communication (Hockney 1994): moving S bytes takes alpha + S / beta, a
// latency plus a transfer time. Fitted to measured times, it predicts the time of other sizes and
// the size up to which latency dominates.
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
  // Median over the sizes of |predicted / measured - 1|, where each size is predicted from all
  // others: the model's reliability. NCCL changes algorithm and protocol with the size, so some
  // tenths are usual between sizes.
  double error = 0;
  int points = 0;
  double smallest_bytes = 0;  // Smallest and
  double largest_bytes = 0;   // largest fitted size.

  // Returns true if the model covers this size. Small sizes determine no bandwidth and large ones
  // no latency, so it extends a factor of 8 beyond the fitted sizes.
  bool Covers(double bytes) const {
    return bytes >= smallest_bytes / 8 && bytes <= largest_bytes * 8;
  }
  double Seconds(double bytes) const { return latency_seconds + bytes / bandwidth; }
  // Returns true if `seconds` exceeds any error of the model between its sizes: twice the predicted
  // time, plus six times its error. With an error of 0.05, NCCL's all-reduce of 1 MiB takes 1.6
  // times the time predicted from other sizes on two healthy H200.
  bool LeavesUnexplained(double bytes, double seconds) const {
    constexpr double kLeast = 1;
    constexpr double kErrors = 6;
    const bool between = bytes >= smallest_bytes && bytes <= largest_bytes;
    return between && seconds > Seconds(bytes) * (1 + std::max(kLeast, kErrors * error));
  }
  // Returns the size in bytes whose time is half latency: smaller messages are hardly faster.
  double KneeBytes() const { return latency_seconds * bandwidth; }
};

// Fits the model with minimal relative errors, because times span six orders of magnitude. Returns
// nothing for fewer than three sizes, for sizes within a factor of 8 of each other, if times do not
// grow with the size, or if a number is not positive.
std::optional<AlphaBeta> FitAlphaBeta(const std::vector<SizedTime>& points);

}  // namespace assay
