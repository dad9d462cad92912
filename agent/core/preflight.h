// Checks before a measurement that detect unhealthy nodes.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/v1/inventory.pb.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "host/nvml.h"

namespace assay::agent {

// The facts of one preflight. An absent value could not be read, which is not an error.
struct PreflightFacts {
  struct Gpu {
    v1::GpuInventory inventory;
    NvmlErrors errors;
    NvmlSample sample;
    std::optional<int> processes;
  };
  std::vector<Gpu> gpus;
  std::optional<int64_t> disk_free_bytes;  // On the file system of the spool.
  std::optional<int64_t> memory_available_bytes;
};

// Returns the findings, in the order of the GPUs and then of the host.
std::vector<v1::HealthFinding> JudgePreflight(const PreflightFacts& facts);

// Returns the health finding for a node on which opening NVML, NVIDIA's library for querying GPUs,
// failed with the error `opened`. The finding is an ERROR if a GPU driver is installed, because
// there may be GPUs that the agent cannot see. Returns nullopt if no driver is installed.
std::optional<v1::HealthFinding> JudgeNvml(const Status& opened);

struct PreflightReport {
  std::vector<v1::HealthFinding> findings;
  // Current values of the GPUs, in the requested order.
  std::vector<v1::GpuInventory> gpus;

  // Returns the first finding of severity ERROR; null if there is none.
  const v1::HealthFinding* FirstError() const;
  // Returns the names of checks that warned, for a result's condition flags: "gpu_processes".
  std::vector<std::string> WarningFlags() const;
};

// Reads the facts and evaluates them. Thread-safe.
class Preflight {
 public:
  // Reads the facts of the given GPUs and of the host. Called on a thread of its own.
  using Reader = std::function<PreflightFacts(const std::vector<int>& gpu_indices)>;

  // `nvml` may be null.
  Preflight(std::shared_ptr<const Nvml> nvml, const std::string& spool_folder);
  explicit Preflight(Reader reader) : reader_(std::move(reader)) {}

  // Checks the health of the given GPUs and of the host, which normally takes a few milliseconds.
  // If the driver does not respond within twice `budget`, returns a report with an ERROR. While the
  // driver hangs, later calls return the same report at once instead of querying the driver again,
  // so that it blocks at most one thread.
  PreflightReport Run(const std::vector<int>& gpu_indices, Duration budget) const;

 private:
  // A call of the reader that has not returned in time.
  struct Hung {
    std::future<PreflightFacts> answer;
    PreflightReport report;
  };

  const Reader reader_;
  mutable Mutex mutex_;  // Held while reading, so that at most one thread waits for the driver.
  mutable std::optional<Hung> hung_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::agent
