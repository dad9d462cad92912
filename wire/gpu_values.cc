#include "wire/gpu_values.h"

#include <algorithm>

#include "wire/timestamps.h"

namespace assay::schema {
namespace {

using Add = GpuValue::Add;

// Exports a telemetry field, multiplied by `scale`.
#define ASSAY_TELEMETRY(field, scale)                                      \
  [](const GpuFacts& gpu, const Add& add) {                                \
    if (gpu.telemetry == nullptr || !gpu.telemetry->has_##field()) return; \
    add("", static_cast<double>(gpu.telemetry->field()) * (scale));        \
  }
// Exports an inventory field, multiplied by `scale`.
#define ASSAY_INVENTORY(field, scale)                                      \
  [](const GpuFacts& gpu, const Add& add) {                                \
    if (gpu.inventory == nullptr || !gpu.inventory->has_##field()) return; \
    add("", static_cast<double>(gpu.inventory->field()) * (scale));        \
  }
// Exports two telemetry fields as one metric with two label values.
#define ASSAY_KINDS(first, first_field, second, second_field)                             \
  [](const GpuFacts& gpu, const Add& add) {                                               \
    if (gpu.telemetry == nullptr) return;                                                 \
    const v1::GpuTelemetry& read = *gpu.telemetry;                                        \
    if (read.has_##first_field()) add(first, static_cast<double>(read.first_field()));    \
    if (read.has_##second_field()) add(second, static_cast<double>(read.second_field())); \
  }

constexpr bool kCounter = true;
constexpr bool kGauge = false;
constexpr double kMega = 1e6;

std::vector<GpuValue> MakeGpuValues() {
  return {
      {"ecc_errors_total", "ECC errors since the driver was loaded, by kind.", kCounter, "kind",
       ASSAY_KINDS("corrected", ecc_corrected, "uncorrected", ecc_uncorrected)},
      {"energy_joules_total", "Energy used since the driver was loaded.", kCounter, nullptr,
       ASSAY_TELEMETRY(energy_joules, 1)},
      {"last_xid",
       "Number of the newest Xid, an error that the driver logged, since the agent started.",
       kGauge, nullptr, ASSAY_TELEMETRY(last_xid, 1)},
      {"last_xid_timestamp_seconds", "When the newest Xid was logged.", kGauge, nullptr,
       [](const GpuFacts& gpu, const Add& add) {
         if (gpu.telemetry == nullptr || !gpu.telemetry->has_last_xid_time()) return;
         add("", SecondsSince1970(FromTimestamp(gpu.telemetry->last_xid_time())));
       }},
      {"memory_clock_hertz", "Clock of the memory.", kGauge, nullptr,
       ASSAY_TELEMETRY(memory_clock_mhz, kMega)},
      {"memory_size_bytes", "Memory that the GPU has.", kGauge, nullptr,
       ASSAY_INVENTORY(memory_bytes, 1)},
      {"memory_used_bytes", "Memory of the GPU that is in use.", kGauge, nullptr,
       ASSAY_TELEMETRY(memory_used_bytes, 1)},
      {"nvlink_errors_total",
       "Replays, recoveries and CRC errors of all NVLinks since the driver was loaded.", kCounter,
       nullptr, ASSAY_TELEMETRY(nvlink_errors, 1)},
      {"nvlinks_active", "NVLinks that are up.", kGauge, nullptr,
       ASSAY_TELEMETRY(nvlinks_active, 1)},
      {"nvlinks_expected",
       "The most NVLinks that a GPU of this model on the node had when the agent started.", kGauge,
       nullptr,
       [](const GpuFacts& gpu, const Add& add) {
         if (gpu.nvlinks_expected > 0) add("", gpu.nvlinks_expected);
       }},
      {"pcie_replays_total", "Packets that were sent again over PCIe.", kCounter, nullptr,
       ASSAY_TELEMETRY(pcie_replays, 1)},
      {"power_limit_watts", "Power that the GPU may draw.", kGauge, nullptr,
       ASSAY_TELEMETRY(power_limit_watts, 1)},
      {"power_watts", "Power drawn.", kGauge, nullptr, ASSAY_TELEMETRY(power_watts, 1)},
      {"remapped_rows_total", "Rows of memory that were replaced over the GPU's life, by error.",
       kCounter, "kind",
       ASSAY_KINDS("correctable", rows_remapped_correctable, "uncorrectable",
                   rows_remapped_uncorrectable)},
      {"row_remap_failed", "1 if a faulty row of memory could not be replaced.", kGauge, nullptr,
       ASSAY_TELEMETRY(row_remap_failed, 1)},
      {"row_remap_pending", "1 if a reset of the GPU will replace a faulty row of memory.", kGauge,
       nullptr, ASSAY_TELEMETRY(row_remap_pending, 1)},
      {"slowdown_temperature_celsius", "Temperature at which the GPU reduces its clocks.", kGauge,
       nullptr, ASSAY_INVENTORY(slowdown_celsius, 1)},
      {"sm_clock_hertz", "Clock of the multiprocessors.", kGauge, nullptr,
       ASSAY_TELEMETRY(sm_clock_mhz, kMega)},
      {"sm_clock_max_hertz", "Highest clock of the multiprocessors.", kGauge, nullptr,
       ASSAY_INVENTORY(sm_clock_max_mhz, kMega)},
      {"temperature_celsius", "Temperature of the GPU's core.", kGauge, nullptr,
       ASSAY_TELEMETRY(temperature_celsius, 1)},
      {"throttle_active", "1 while clocks are held down for this reason; absent otherwise.", kGauge,
       "reason",
       [](const GpuFacts& gpu, const Add& add) {
         if (gpu.telemetry == nullptr) return;
         for (const std::string& reason : gpu.telemetry->throttle_reasons()) add(reason, 1);
       }},
      {"throttle_seconds_total",
       "Time that clocks were held down since the driver was loaded, by reason.", kCounter,
       "reason",
       [](const GpuFacts& gpu, const Add& add) {
         if (gpu.telemetry == nullptr) return;
         for (const v1::ThrottleTime& time : gpu.telemetry->throttle_times()) {
           add(time.reason(), time.seconds());
         }
       }},
      {"utilization_ratio", "Fraction of the last second, at most, in which a kernel was running.",
       kGauge, nullptr, ASSAY_TELEMETRY(utilization, 1)},
  };
}

#undef ASSAY_TELEMETRY
#undef ASSAY_INVENTORY
#undef ASSAY_KINDS

}  // namespace

const std::vector<GpuValue>& GpuValues() {
  static const std::vector<GpuValue> values = MakeGpuValues();
  return values;
}

int ExpectedNvlinks(const v1::NodeInventory& inventory, const v1::GpuInventory& gpu) {
  int most = 0;
  for (const v1::GpuInventory& other : inventory.gpus()) {
    if (other.model() == gpu.model()) most = std::max(most, other.nvlinks_active());
  }
  return most;
}

}  // namespace assay::schema
