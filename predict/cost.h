// Estimates the times of matrix products and all-reduces, the two operations that dominate the
// steps of a language model.
#pragma once

#include <string>

#include "common/status.h"
#include "predict/hardware.h"

namespace assay::predict {

// Returns the number of bytes per element of a type, such as 2 for "bf16" and 0.5 for "int4", not
// counting the scales of quantized types.
double BytesOf(const std::string& dtype);

// A matrix product [m x k] [k x n].
struct Product {
  double m = 0;
  double n = 0;
  double k = 0;
  std::string dtype = "bf16";  // Of activations and output; chooses the peak.
  std::string weights_dtype;   // Of the [k x n] matrix; empty: as dtype.
};

struct ProductTime {
  double flops = 0;
  double bytes = 0;
  // The fixed cost of every matrix product on this GPU, regardless of its size: the smallest amount
  // by which a measured product exceeded its ideal time, or 0 if none was measured.
  double fixed_seconds = 0;
  double compute_seconds = 0;  // FLOPs / peak, at the efficiency.
  double memory_seconds = 0;   // Bytes / bandwidth.
  double seconds = 0;          // The larger of both, and the fixed cost.
  // Efficiency of the nearest measured product, or 1 if none is near enough.
  double efficiency = 1;
  bool compute_bound = false;
  std::string source;  // Of the peak or the bandwidth that decides.
};

// Estimates the time of one matrix product from the GPU's peak rate and bandwidth. Also uses
// measurements of similar products (same type, with m, n and k within a factor of 8), if any.
// Returns an error if the peak or the bandwidth is unknown.
Result<ProductTime> Estimate(const Hardware& gpu, const Product& product);

// The time of an all-reduce of `bytes` between `ranks` GPUs of one node.
struct AllReduceTime {
  double seconds = 0;
  double latency_seconds = 0;
  double sent_bytes = 0;  // That each GPU sends: 2 (n - 1)/n S.
  std::string formula;
  std::string source;
};

// Estimates the time of an all-reduce, in one of these ways:
//   - Between two measured sizes, interpolates linearly.
//   - Up to a factor of 8 beyond the measured sizes, uses a line fitted to all measurements.
//   - Otherwise, uses the bandwidth of the link between GPUs and, unless the user gave this
//     bandwidth, the latency of NCCL measured on H200 GPUs. Returns an error if the bandwidth is
//     unknown.
Result<AllReduceTime> EstimateAllReduce(const Hardware& gpu, double bytes, int64_t ranks);

}  // namespace assay::predict
