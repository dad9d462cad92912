// The alpha-beta model of communication (Hockney 1994): moving S bytes takes
// alpha + S / beta, a latency and then a bandwidth. Fitted to measured times, it says
// what the next size should take, and where a message stops being mostly latency.
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
  double latency_seconds = 0;  // alpha; 0 if the times grow from nothing.
  double bandwidth = 0;        // beta, bytes a second.
  // Median over the sizes of |predicted / measured - 1| where a size is predicted by all
  // others: how far to trust it. NCCL changes algorithm and protocol with the size, so
  // some tenths are usual in between.
  double error = 0;
  int points = 0;
  double smallest_bytes = 0;  // Of the sizes that were fitted,
  double largest_bytes = 0;   // and the largest.

  // Whether it says anything of this size: small sizes tell no bandwidth, and large ones no
  // latency, so it reaches a factor of 8 beyond those that were fitted.
  bool Covers(double bytes) const {
    return bytes >= smallest_bytes / 8 && bytes <= largest_bytes * 8;
  }
  double Seconds(double bytes) const { return latency_seconds + bytes / bandwidth; }
  // Whether `seconds` is longer than anything that the model errs by between its sizes: twice as
  // long as predicted, and six times its error beyond that. By models of other sizes with an error
  // of 0.05, NCCL's all-reduce of 1 MiB takes 1.6 times as long on two healthy H200.
  bool LeavesUnexplained(double bytes, double seconds) const {
    constexpr double kLeast = 1;
    constexpr double kErrors = 6;
    const bool between = bytes >= smallest_bytes && bytes <= largest_bytes;
    return between && seconds > Seconds(bytes) * (1 + std::max(kLeast, kErrors * error));
  }
  // The size whose time is half latency, in bytes: below it, smaller is not faster.
  double KneeBytes() const { return latency_seconds * bandwidth; }
};

// Fits so that relative errors are least, since times span six orders of magnitude.
// Absent with fewer than three sizes, with sizes within a factor of 8 of each other, if
// times do not grow with the size, or if a number is not positive.
std::optional<AlphaBeta> FitAlphaBeta(const std::vector<SizedTime>& points);

}  // namespace assay
