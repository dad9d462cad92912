#include "predict/cost.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "common/numbers.h"
#include "roofline/alpha_beta.h"

namespace assay::predict {
namespace {

// The efficiency of a measured product is used only if each dimension is within this factor.
constexpr double kNear = 8;

double Distance(const MeasuredProduct& measured, const Product& product) {
  return std::fabs(std::log(measured.m / product.m)) + std::fabs(std::log(measured.n / product.n)) +
         std::fabs(std::log(measured.k / product.k));
}

bool IsNear(double a, double b) { return a <= b * kNear && b <= a * kNear; }

const MeasuredProduct* Nearest(const Hardware& gpu, const Product& product) {
  const MeasuredProduct* nearest = nullptr;
  for (const MeasuredProduct& measured : gpu.products) {
    if (measured.dtype != product.dtype || !IsNear(measured.m, product.m) ||
        !IsNear(measured.n, product.n) || !IsNear(measured.k, product.k)) {
      continue;
    }
    if (nearest == nullptr || Distance(measured, product) < Distance(*nearest, product)) {
      nearest = &measured;
    }
  }
  return nearest;
}

double Flops(double m, double n, double k) { return 2 * m * n * k; }

double Bytes(const Product& product) {
  const double element = BytesOf(product.dtype);
  const double weight = product.weights_dtype.empty() ? element : BytesOf(product.weights_dtype);
  return element * (product.m * product.k + product.m * product.n) + weight * product.k * product.n;
}

// The roofline of the spec sheet. Efficiencies are fractions of it.
struct SheetRoof {
  double peak = 0;
  double bandwidth = 0;

  double IdealSeconds(const MeasuredProduct& measured) const {
    const Product product{measured.m, measured.n, measured.k, measured.dtype, ""};
    return std::max(Flops(product.m, product.n, product.k) / peak, Bytes(product) / bandwidth);
  }
};

double MeasuredSeconds(const MeasuredProduct& measured) {
  return Flops(measured.m, measured.n, measured.k) / measured.flops_per_second.value;
}

// Returns the fixed cost of a matrix product of this type, in seconds: the smallest amount by which
// a measured product exceeded its ideal time on the roofline.
double FixedSeconds(const Hardware& gpu, const std::string& dtype, const SheetRoof& roof) {
  // A longer time is not a fixed cost. It occurs only if all measured products are large.
  constexpr double kMost = 10e-6;
  double least = kMost;
  for (const MeasuredProduct& measured : gpu.products) {
    if (measured.dtype != dtype) continue;
    least = std::min(least, MeasuredSeconds(measured) - roof.IdealSeconds(measured));
  }
  return least < kMost ? std::max(least, 0.0) : 0;
}

// Returns the efficiency of a measured matrix product: its ideal time on the roofline divided by
// its measured time, not counting the fixed cost.
double EfficiencyOf(const MeasuredProduct& measured, double fixed, const SheetRoof& roof) {
  return std::min(1.0, roof.IdealSeconds(measured) / (MeasuredSeconds(measured) - fixed));
}

// Returns the latency, in seconds, of a small NCCL 2.28 all-reduce between H200 SXM GPUs connected
// by NVLink. The values are from published_workloads.csv, except that the one for more than four
// ranks is extrapolated.
double NvlinkLatency(int64_t ranks) {
  if (ranks <= 2) return 9.0e-6;
  return ranks <= 4 ? 10.8e-6 : 12.0e-6;
}

// Estimates an all-reduce from measured ones. Returns false if no measured size is near enough.
bool FromMeasured(const MeasuredAllReduce& measured, double bytes, AllReduceTime& time) {
  std::vector<SizedTime> times;
  for (const MeasuredAllReduce::Size& size : measured.sizes) {
    times.push_back({size.bytes, size.seconds.value});
  }
  if (times.empty()) return false;
  if (bytes >= times.front().bytes && bytes <= times.back().bytes) {
    const auto above = std::lower_bound(
        times.begin(), times.end(), bytes,
        [](const SizedTime& sized, double wanted) { return sized.bytes < wanted; });
    const SizedTime& high = *above;
    const SizedTime& low = above == times.begin() || high.bytes == bytes ? high : *(above - 1);
    const double share =
        high.bytes > low.bytes ? (bytes - low.bytes) / (high.bytes - low.bytes) : 0;
    time.seconds = low.seconds + share * (high.seconds - low.seconds);
    time.latency_seconds = times.front().seconds;
    time.formula = "between the measured sizes";
    time.source = "fitted to " + measured.source;
    return true;
  }
  const std::optional<AlphaBeta> model = FitAlphaBeta(times);
  if (!model || !model->Covers(bytes)) return false;
  time.latency_seconds = model->latency_seconds;
  time.seconds = model->Seconds(bytes);
  time.formula = "alpha + S/beta";
  time.source = "fitted to " + measured.source;
  return true;
}

}  // namespace

double BytesOf(const std::string& dtype) {
  static const std::map<std::string, double> kBytes = {{"fp64", 8}, {"fp32", 4},   {"tf32", 4},
                                                       {"bf16", 2}, {"fp16", 2},   {"fp8", 1},
                                                       {"int8", 1}, {"int4", 0.5}, {"fp4", 0.5}};
  const auto found = kBytes.find(dtype.substr(0, dtype.find('_')));
  return found == kBytes.end() ? 2 : found->second;
}

Result<ProductTime> Estimate(const Hardware& gpu, const Product& product) {
  ASSAY_ASSIGN_OR_RETURN(const Figure peak, gpu.Peak(product.dtype));
  if (!gpu.memory_bandwidth) {
    return NotFound("the memory bandwidth of " + gpu.name + " is not known")
        .WithHint("give it as --bandwidth, such as --bandwidth 3.35TB/s");
  }
  ProductTime time;
  time.flops = Flops(product.m, product.n, product.k);
  time.bytes = Bytes(product);
  double peak_rate = peak.value;
  double bandwidth = gpu.memory_bandwidth->value;
  time.source = peak.source;
  if (const MeasuredProduct* nearest = Nearest(gpu, product);
      nearest != nullptr && gpu.sheet_bandwidth) {
    if (const std::optional<double> sheet = gpu.SheetPeak(product.dtype)) {
      const SheetRoof roof{*sheet, *gpu.sheet_bandwidth};
      peak_rate = roof.peak;
      bandwidth = roof.bandwidth;
      time.fixed_seconds = FixedSeconds(gpu, product.dtype, roof);
      time.efficiency = EfficiencyOf(*nearest, time.fixed_seconds, roof);
      // No product can read faster than the measured read bandwidth.
      bandwidth = std::min(bandwidth, gpu.memory_bandwidth->value / time.efficiency);
      time.source = "fitted: the efficiency of m=" + FormatExact(nearest->m) +
                    " n=" + FormatExact(nearest->n) + " k=" + FormatExact(nearest->k) + ", " +
                    nearest->flops_per_second.source;
    }
  }
  time.compute_seconds = time.flops / (peak_rate * time.efficiency);
  time.memory_seconds = time.bytes / (bandwidth * time.efficiency);
  time.seconds = std::max(time.compute_seconds, time.memory_seconds) + time.fixed_seconds;
  time.compute_bound = time.compute_seconds >= time.memory_seconds;
  if (!time.compute_bound && !time.source.starts_with("fitted"))
    time.source = gpu.memory_bandwidth->source;
  return time;
}

Result<AllReduceTime> EstimateAllReduce(const Hardware& gpu, double bytes, int64_t ranks) {
  AllReduceTime time;
  const auto n = static_cast<double>(ranks);
  time.sent_bytes = 2 * (n - 1) / n * bytes;
  if (ranks == 1) return time;
  for (const MeasuredAllReduce& measured : gpu.all_reduces) {
    if (measured.ranks == ranks && FromMeasured(measured, bytes, time)) return time;
  }
  if (!gpu.link_bandwidth) {
    return NotFound("the bandwidth between GPUs of " + gpu.name + " is not known")
        .WithHint(
            "give it in one direction as --link, such as --link 450GB/s; for PCI Express 5.0 "
            "x16, 63GB/s");
  }
  time.latency_seconds = gpu.link_bandwidth->source == "given" ? 0 : NvlinkLatency(ranks);
  time.seconds = time.latency_seconds + time.sent_bytes / gpu.link_bandwidth->value;
  time.formula = "alpha + 2 (n-1)/n S / link";
  time.source = gpu.link_bandwidth->source;
  if (time.latency_seconds > 0) time.source += "; alpha of NCCL 2.28 on H200";
  return time;
}

}  // namespace assay::predict
