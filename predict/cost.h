// Times of the two things that steps of a model are made of: matrix products and all-reduces.
#pragma once

#include <string>

#include "common/status.h"
#include "predict/hardware.h"

namespace assay::predict {

// Bytes per element of a type: 2 for "bf16", 0.5 for "int4" (scales not included).
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
  // Cost of every product on this GPU, whatever its size: the least that a measured one took beyond
  // its ideal time. 0 if none was measured.
  double fixed_seconds = 0;
  double compute_seconds = 0;  // FLOPs / peak, at the efficiency.
  double memory_seconds = 0;   // Bytes / bandwidth.
  double seconds = 0;          // The larger of both, and the fixed cost.
  // Efficiency of the nearest measured product; 1 if none is near enough.
  double efficiency = 1;
  bool compute_bound = false;
  std::string source;  // Of the peak or the bandwidth that decides.
};

// Estimates the time of one product. Uses the efficiency of the measured product that is nearest in
// log m, n and k, if each is within a factor of 8 and the type is the same, and the fixed cost of
// the measured products of this type. Returns an error if the peak or the bandwidth is unknown.
Result<ProductTime> Estimate(const Hardware& gpu, const Product& product);

// Time of an all-reduce of `bytes` between `ranks` GPUs of one node.
struct AllReduceTime {
  double seconds = 0;
  double latency_seconds = 0;
  double sent_bytes = 0;  // That each GPU sends: 2 (n - 1)/n S.
  std::string formula;
  std::string source;
};

// Interpolates between the two measured sizes around `bytes`, which follows NCCL's changes of
// algorithm better than one line does. Outside of them, up to a factor of 8, uses the alpha-beta
// model fitted to all sizes. Else uses the link's bandwidth and the latency that NCCL showed on
// H200 GPUs. Returns an error if neither is known.
Result<AllReduceTime> EstimateAllReduce(const Hardware& gpu, double bytes, int64_t ranks);

}  // namespace assay::predict
