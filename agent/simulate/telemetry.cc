#include "agent/simulate/telemetry.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "agent/simulate/noise.h"
#include "wire/timestamps.h"

namespace assay::agent {
namespace {

constexpr Duration kStep = std::chrono::seconds(5);
constexpr double kIdleMhz = 345;
// The GPU reduces its clocks at this temperature.
constexpr double kSlowdownCelsius = 87;
// The Xid of a failing node, whose runner crashes: "GPU memory page fault".
constexpr int kXid = 31;
// "Contained memory error" and "NVLink error".
constexpr int kMemoryXid = 94;
constexpr int kLinkXid = 74;
constexpr double kSecondsPerMemoryError = 600;

double SecondsBetween(WallTime from, WallTime to) {
  return std::max(0.0, std::chrono::duration<double>(to - from).count());
}

}  // namespace

SimulatedTelemetry::SimulatedTelemetry(uint64_t seed, const v1::NodeDescription& node,
                                       const std::vector<Fault>& faults, WallTime start) {
  for (const v1::GpuInventory& inventory : node.inventory().gpus()) {
    Gpu& gpu = gpus_.emplace_back();
    gpu.index = inventory.index();
    gpu.seed = HashOf(seed, node.name() + "/" + std::to_string(gpu.index) + " telemetry");
    gpu.limit_watts = inventory.has_power_limit_watts() ? inventory.power_limit_watts() : 700;
    gpu.max_sm_mhz = inventory.has_sm_clock_max_mhz() ? inventory.sm_clock_max_mhz() : 1980;
    gpu.max_memory_mhz = inventory.memory_clock_max_mhz();
    gpu.memory_bytes = inventory.memory_bytes();
    Random random(gpu.seed);
    gpu.idle_celsius = 36 + 8 * random.Uniform();
    gpu.busy_celsius = 58 + 12 * random.Uniform();
    gpu.idle_watts = gpu.limit_watts * (0.115 + 0.045 * random.Uniform());
    gpu.busy_watts = gpu.limit_watts * (0.83 + 0.05 * random.Uniform());
    if (inventory.has_nvlinks_active()) gpu.nvlinks = inventory.nvlinks_active();
    gpu.remapped_rows = static_cast<int64_t>(20 * random.Uniform()) == 0 ? 1 : 0;
    gpu.link_errors = static_cast<int64_t>(5 * random.Uniform());
    for (const Fault& fault : faults) {
      if (!fault.IsOf(node.name()) || fault.gpu != gpu.index) continue;
      const WallTime since = fault.since == WallTime::min() ? start : fault.since;
      if (fault.kind == Fault::Kind::kMemoryErrors) gpu.memory_errors_since = since;
      if (fault.kind == Fault::Kind::kLinkErrors) gpu.link_errors_since = since;
      const bool slow = fault.kind == Fault::Kind::kSlowGpu && fault.factor < 1;
      if (!slow) continue;
      gpu.slow_factor = fault.factor;
      gpu.slow_since = since;
    }
  }
  for (const Fault& fault : faults) {
    if (fault.kind != Fault::Kind::kFailingNode || !fault.IsOf(node.name())) continue;
    failing_since_ = fault.since == WallTime::min() ? start : fault.since;
  }
}

Telemetry SimulatedTelemetry::At(WallTime now, const std::multiset<int>& busy) const {
  Telemetry gpus;
  gpus.reserve(gpus_.size());
  for (const Gpu& gpu : gpus_) gpus.push_back(One(gpu, now, busy.contains(gpu.index)));
  if (!gpus.empty() && failing_since_ && now >= *failing_since_) {
    gpus[0].set_last_xid(kXid);
    *gpus[0].mutable_last_xid_time() = schema::ToTimestamp(*failing_since_);
  }
  return gpus;
}

v1::GpuTelemetry SimulatedTelemetry::One(const Gpu& gpu, WallTime now, bool busy) const {
  Random random(gpu.seed ^ static_cast<uint64_t>(now.time_since_epoch() / kStep));
  const bool slow = gpu.slow_factor < 1 && now >= gpu.slow_since;
  // From -1 to 1.
  const auto noise = [&] { return 2 * random.Uniform() - 1; };
  v1::GpuTelemetry message;
  message.set_index(gpu.index);
  const double celsius = slow ? kSlowdownCelsius : busy ? gpu.busy_celsius : gpu.idle_celsius;
  message.set_temperature_celsius(std::round(celsius + noise()));
  const double watts = busy ? gpu.busy_watts * gpu.slow_factor : gpu.idle_watts;
  message.set_power_watts(std::min(gpu.limit_watts, watts * (1 + 0.02 * noise())));
  message.set_power_limit_watts(gpu.limit_watts);
  // Clocks move in steps of 15 MHz.
  const double busy_mhz = std::round(gpu.max_sm_mhz * gpu.slow_factor / 15 + noise()) * 15;
  message.set_sm_clock_mhz(busy ? std::min(gpu.max_sm_mhz, busy_mhz) : kIdleMhz);
  if (gpu.max_memory_mhz > 0) message.set_memory_clock_mhz(gpu.max_memory_mhz);
  if (slow) message.add_throttle_reasons("hw_thermal_slowdown");
  const double used = busy ? 0.6 + 0.1 * noise() : 0.004;
  message.set_memory_used_bytes(static_cast<int64_t>(static_cast<double>(gpu.memory_bytes) * used));
  message.set_utilization(busy ? 1 : 0);
  AddErrors(gpu, now, message);
  v1::ThrottleTime* const thermal = message.add_throttle_times();
  thermal->set_reason("thermal");
  thermal->set_seconds(slow ? SecondsBetween(gpu.slow_since, now) : 0);
  return message;
}

void SimulatedTelemetry::AddErrors(const Gpu& gpu, WallTime now, v1::GpuTelemetry& message) {
  const auto begin = [&](const std::optional<WallTime>& since, int xid) {
    if (!since || now < *since) return false;
    message.set_last_xid(xid);
    *message.mutable_last_xid_time() = schema::ToTimestamp(*since);
    return true;
  };
  int64_t memory_errors = 0;
  if (begin(gpu.memory_errors_since, kMemoryXid)) {
    const double seconds = SecondsBetween(*gpu.memory_errors_since, now);
    memory_errors = 1 + static_cast<int64_t>(seconds / kSecondsPerMemoryError);
  }
  message.set_ecc_corrected(10 * memory_errors);
  message.set_ecc_uncorrected(memory_errors);
  message.set_rows_remapped_correctable(gpu.remapped_rows);
  message.set_rows_remapped_uncorrectable(memory_errors > 0 ? 1 : 0);
  message.set_row_remap_pending(memory_errors > 0);
  message.set_row_remap_failed(false);
  int64_t link_errors = gpu.link_errors;
  const bool link_lost = begin(gpu.link_errors_since, kLinkXid);
  if (link_lost) {
    link_errors += 1 + static_cast<int64_t>(SecondsBetween(*gpu.link_errors_since, now));
  }
  message.set_pcie_replays(link_errors);
  if (!gpu.nvlinks) return;
  message.set_nvlink_errors(link_errors);
  message.set_nvlinks_active(*gpu.nvlinks - (link_lost && *gpu.nvlinks > 0 ? 1 : 0));
}

}  // namespace assay::agent
