// What vendors promise, compiled into the program from data/gpu_specs.csv.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// One row of data/gpu_specs.csv: dense peaks. Absent: the GPU lacks it or the
// sheet does not say.
struct GpuSpec {
  std::string name;  // "H200 SXM".
  // FLOP/s by column: "fp64_vector", "fp64_tensor", "fp32", "tf32", "bf16", "fp8",
  // "int8", "fp4".
  std::map<std::string, double> flops;
  std::optional<double> memory_bytes_per_second;
  std::optional<double> nvlink_bytes_per_second;  // One direction.
  std::optional<int64_t> l2_bytes;
  std::optional<int> sm_count;
  std::optional<int> pcie_generation;
  std::optional<double> tdp_watts;
  std::string certainty;  // "sheet" or "recalled".
  std::string note;
};

// In the order of the file.
const std::vector<GpuSpec>& SpecSheets();

// The sheet of a GPU named as NVML and CUDA name it ("NVIDIA H200"). The memory
// size tells variants apart whose name does not. Null if it has none: a variant
// that is not in the table (H200 NVL, a MIG slice) is never taken for another.
const GpuSpec* FindSpec(std::string_view device_name, int64_t memory_bytes);

// The sheet with exactly this GpuSpec::name; null if there is none.
const GpuSpec* SheetNamed(std::string_view name);

}  // namespace assay
