// Vendors' specifications, compiled into the program from data/gpu_specs.csv.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// The peak rates of one GPU model, without sparsity, from a row of data/gpu_specs.csv. A value is
// missing if the GPU lacks the unit or the spec sheet does not state the rate.
struct GpuSpec {
  std::string name;  // "H200 SXM".
  // The kind of hardware: "cuda" for GPUs that agents can detect by the name that NVML reports. The
  // other kinds, "accelerator" and "cpu", are listed only for comparison.
  std::string kind;
  // Peak rates in FLOP/s. The keys are "fp64_vector", "fp64_tensor", "fp32", "tf32", "bf16",
  // "fp16", "fp8", "int8" and "fp4". "fp16" is present only if its rate differs from that of
  // "bf16".
  std::map<std::string, double> flops;
  // The size as the device reports it, such as 85.5e9 for an "80 GB" H100.
  std::optional<double> memory_bytes;
  std::optional<double> memory_bytes_per_second;
  std::optional<double> nvlink_bytes_per_second;  // In one direction.
  std::optional<int> nvlink_gpus;  // GPUs that a bridge joins. Missing if NVLink joins all.
  std::optional<int64_t> l2_bytes;
  std::optional<int> sm_count;  // CUs of AMD's GPUs, cores of other chips.
  std::optional<int> pcie_generation;
  std::optional<double> tdp_watts;
  std::string certainty;  // "sheet" or "recalled".
  std::string source;     // Where the figures are from: a document or a URL.
  std::string note;
};

// Returns all sheets in the order of the file.
const std::vector<GpuSpec>& SpecSheets();

// Returns the spec sheet of a GPU, or null if there is none. `device_name` is the name reported by
// NVML and CUDA, such as "NVIDIA H200". The memory size distinguishes variants with the same name.
// A variant without its own sheet, such as a MIG instance, is not matched with a similar model.
const GpuSpec* FindSpec(std::string_view device_name, int64_t memory_bytes);

// Returns the sheet with exactly this GpuSpec::name; null if there is none.
const GpuSpec* SheetNamed(std::string_view name);

// Returns the amount of work that an SM (multiprocessor) does per clock cycle, from
// data/sm_rates.csv. `gpu` is a GpuSpec::name. `column` is the name of an SmRate or a key of
// GpuSpec::flops. For a key, the result is in dense FLOP (for int8, in operations). Returns nullopt
// if NVIDIA's white papers do not state the rate.
std::optional<double> RatePerClock(const std::string& gpu, const std::string& column);

}  // namespace assay
