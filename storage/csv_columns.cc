#include "storage/csv_columns.h"

#include <algorithm>
#include <array>

namespace assay::storage {
namespace {

struct Renamed {
  std::string_view column;
  std::string_view field;
};

constexpr std::array<Renamed, 13> kRenamed = {{{"campaign_id", "campaign"},
                                               {"cpu_model", "cpu.model"},
                                               {"efficiency_spec", "efficiency"},
                                               {"failure_reason", "failure"},
                                               {"flags", "flag"},
                                               {"gpu_form_factor", "gpu.form_factor"},
                                               {"gpu_model", "gpu.model"},
                                               {"gpu_uuids", "gpu.uuid"},
                                               {"job_id", "job"},
                                               {"lineage_id", "lineage"},
                                               {"mig_profile", "gpu.mig_profile"},
                                               {"price_per_hour", "price"},
                                               {"series_id", "series"}}};

constexpr std::array<std::string_view, 50> kUnfiltered = {"achieved_occupancy",
                                                          "arithmetic_intensity",
                                                          "benchmark_version",
                                                          "bound",
                                                          "ci_high",
                                                          "ci_low",
                                                          "clocks_locked",
                                                          "counter_reason",
                                                          "counter_source",
                                                          "dram_read_bytes",
                                                          "dram_throughput",
                                                          "dram_write_bytes",
                                                          "ecc_enabled",
                                                          "efficiency_clock",
                                                          "efficiency_measured",
                                                          "error",
                                                          "failure_message",
                                                          "flops",
                                                          "host_seconds",
                                                          "kernels",
                                                          "kernels_reason",
                                                          "l2_hit_rate",
                                                          "load_average",
                                                          "memory_clock_mhz",
                                                          "nccl_variables",
                                                          "node_count",
                                                          "other_gpu_processes",
                                                          "p05",
                                                          "p95",
                                                          "parameters",
                                                          "power_limit_watts",
                                                          "power_watts",
                                                          "predicted_seconds",
                                                          "reference",
                                                          "result_id",
                                                          "ridge_measured",
                                                          "ridge_point",
                                                          "shared_bank_conflicts",
                                                          "sm_active",
                                                          "sm_clock_mhz",
                                                          "sm_throughput",
                                                          "spec",
                                                          "spec_certainty",
                                                          "temperature_celsius",
                                                          "tensor_pipe_active",
                                                          "throttle_reasons",
                                                          "timer",
                                                          "tolerance",
                                                          "verified",
                                                          "warmup_seconds"};

}  // namespace

std::optional<std::string_view> FieldOfCsvColumn(std::string_view column) {
  const auto* const renamed = std::find_if(
      kRenamed.begin(), kRenamed.end(), [&](const Renamed& one) { return one.column == column; });
  if (renamed != kRenamed.end()) return renamed->field;
  const bool unfiltered =
      std::find(kUnfiltered.begin(), kUnfiltered.end(), column) != kUnfiltered.end();
  return unfiltered ? std::optional(std::string_view()) : std::nullopt;
}

}  // namespace assay::storage
