// Simulates the temperatures, clocks and loads of GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "agent/core/telemetry.h"
#include "agent/simulate/faults.h"
#include "assay/v1/inventory.pb.h"
#include "common/clock.h"

namespace assay::agent {

// Simulates the GPU temperatures, clocks and error counters that one node reports. The values
// depend only on the seed, the node, the time (in steps of 5 s), and the GPUs that run jobs. These
// faults affect the values:
//   kSlowGpu       a hot GPU with reduced clocks
//   kFailingNode   an Xid (an error reported by the driver) on GPU 0
//   kMemoryErrors  remapped rows and ECC errors
//   kLinkErrors    a missing NVLink, and errors on the others
class SimulatedTelemetry {
 public:
  // Faults without a time begin at `start`.
  SimulatedTelemetry(uint64_t seed, const v1::NodeDescription& node,
                     const std::vector<Fault>& faults, WallTime start);

  // `busy` contains the indices of the GPUs that run jobs.
  Telemetry At(WallTime now, const std::multiset<int>& busy) const;

 private:
  struct Gpu {
    int index = 0;
    uint64_t seed = 0;
    // Values that differ a little between GPUs.
    double idle_celsius = 0;
    double busy_celsius = 0;
    double idle_watts = 0;
    double busy_watts = 0;
    double limit_watts = 0;
    double max_sm_mhz = 0;
    double max_memory_mhz = 0;
    int64_t memory_bytes = 0;
    std::optional<int> nvlinks;
    // Counts of errors that a healthy GPU has collected over its life.
    int64_t remapped_rows = 0;
    int64_t link_errors = 0;
    // The clock of a slow GPU, as a fraction of its maximum clock. The next field is the time at
    // which the GPU becomes slow.
    double slow_factor = 1;
    WallTime slow_since{};
    std::optional<WallTime> memory_errors_since;
    std::optional<WallTime> link_errors_since;
  };

  v1::GpuTelemetry One(const Gpu& gpu, WallTime now, bool busy) const;
  // Adds the error counters, which grow over time if the node has a fault of memory or links.
  static void AddErrors(const Gpu& gpu, WallTime now, v1::GpuTelemetry& message);

  std::vector<Gpu> gpus_;
  std::optional<WallTime> failing_since_;
};

}  // namespace assay::agent
