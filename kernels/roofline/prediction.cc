#include "kernels/roofline/prediction.h"

#include <map>

namespace assay {
namespace {

// FLOP per SM and clock by column, from the architecture white papers: A100
// (GA100, 64 FP32 lanes, 4 third-generation tensor cores), H100 (GH100, 128 FP32
// lanes, 4 fourth-generation), B200 (fifth-generation).
std::optional<double> FlopsPerClock(const std::string& gpu, const std::string& column) {
  using Rates = std::map<std::string, double>;
  static const Rates ampere = {{"fp64_vector", 64}, {"fp64_tensor", 128}, {"fp32", 128},
                               {"tf32", 1024},      {"bf16", 2048},       {"int8", 4096}};
  static const Rates hopper = {{"fp64_vector", 128}, {"fp64_tensor", 256}, {"fp32", 256},
                               {"tf32", 2048},       {"bf16", 4096},       {"fp8", 8192},
                               {"int8", 8192}};
  static const Rates blackwell = {{"bf16", 8192}, {"fp8", 16384}, {"fp4", 32768}};
  const Rates* rates = nullptr;
  if (gpu.rfind("A100", 0) == 0) rates = &ampere;
  if (gpu.rfind("H100", 0) == 0 || gpu.rfind("H200", 0) == 0) rates = &hopper;
  if (gpu.rfind("B200", 0) == 0) rates = &blackwell;
  if (rates == nullptr) return std::nullopt;
  const auto found = rates->find(column);
  if (found == rates->end()) return std::nullopt;
  return found->second;
}

std::optional<double> Efficiency(const Work& work, const Peaks& peaks, double seconds) {
  const auto ideal = Ideal(work, peaks);
  if (!ideal || seconds <= 0) return std::nullopt;
  return ideal->seconds / seconds;
}

}  // namespace

std::optional<IdealTime> Ideal(const Work& work, const Peaks& peaks) {
  const struct {
    double amount;
    const std::optional<double>& peak;
    const char* bound;
  } terms[] = {{work.flops, peaks.flops, "compute"},
               {work.bytes, peaks.bytes, "memory"},
               {work.link_bytes, peaks.link_bytes, "link"}};
  IdealTime ideal;
  for (const auto& term : terms) {
    if (term.amount <= 0) continue;
    if (!term.peak || *term.peak <= 0) return std::nullopt;
    const double seconds = term.amount / *term.peak;
    if (seconds > ideal.seconds) ideal = {seconds, term.bound};
  }
  if (ideal.bound.empty()) return std::nullopt;
  return ideal;
}

Peaks SheetPeaks(const GpuSpec& spec, const Work& work) {
  Peaks peaks;
  const auto column = spec.flops.find(work.peak);
  if (column != spec.flops.end()) peaks.flops = column->second;
  peaks.bytes = spec.memory_bytes_per_second;
  peaks.link_bytes = spec.nvlink_bytes_per_second;
  return peaks;
}

Peaks ClockPeaks(const GpuSpec& spec, const Work& work, double mhz) {
  Peaks peaks = SheetPeaks(spec, work);
  const auto rate = FlopsPerClock(spec.name, work.peak);
  peaks.flops.reset();
  if (rate && spec.sm_count && mhz > 0) peaks.flops = *rate * *spec.sm_count * mhz * 1e6;
  return peaks;
}

Prediction Predict(const Work& work, const Evidence& evidence, double seconds) {
  Prediction prediction;
  if (work.flops > 0) prediction.flops = work.flops;
  if (work.bytes > 0) prediction.bytes = work.bytes;
  if (work.flops > 0 && work.bytes > 0) prediction.arithmetic_intensity = work.flops / work.bytes;

  const Peaks measured = {evidence.ceilings.flops, evidence.ceilings.bytes,
                          evidence.ceilings.link_bytes};
  prediction.efficiency_measured = Efficiency(work, measured, seconds);
  Peaks basis = measured;
  if (evidence.spec != nullptr) {
    basis = SheetPeaks(*evidence.spec, work);
    prediction.efficiency_spec = Efficiency(work, basis, seconds);
    if (prediction.efficiency_spec) prediction.spec = evidence.spec->name;
    if (evidence.sm_clock_mhz && work.flops > 0) {
      prediction.efficiency_clock =
          Efficiency(work, ClockPeaks(*evidence.spec, work, *evidence.sm_clock_mhz), seconds);
    }
  }
  if (const auto ideal = Ideal(work, basis)) {
    prediction.predicted_seconds = ideal->seconds + work.fixed_seconds;
    prediction.bound = work.fixed_seconds > ideal->seconds ? "latency" : ideal->bound;
  }
  return prediction;
}

}  // namespace assay
