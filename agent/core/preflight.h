// What is looked at before a measurement, so that a doubtful node is named instead
// of its numbers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/inventory.pb.h"
#include "common/clock.h"
#include "host/nvml.h"

namespace assay::agent {

// The facts that one preflight read. Absent means unreadable, which is no fault.
struct PreflightFacts {
  struct Gpu {
    v1::GpuInventory inventory;
    NvmlErrors errors;
    NvmlSample sample;
    std::optional<int> processes;
  };
  std::vector<Gpu> gpus;
  std::optional<int64_t> disk_free_bytes;  // Where results are spooled.
  std::optional<int64_t> memory_available_bytes;
};

// The verdicts over the facts, in the order of the GPUs and then of the host.
std::vector<v1::HealthFinding> JudgePreflight(const PreflightFacts& facts);

// What the node has to tell of an NVML that did not open: an ERROR if there is a driver, whose
// GPUs the inventory then lacks. Nothing on a node without a driver.
std::optional<v1::HealthFinding> JudgeNvml(const Status& opened);

struct PreflightReport {
  std::vector<v1::HealthFinding> findings;
  // The GPUs as they are now, in the order asked for.
  std::vector<v1::GpuInventory> gpus;

  // The first finding of severity ERROR; null if there is none.
  const v1::HealthFinding* FirstError() const;
  // The checks that warned, for a result's condition flags: "gpu_processes".
  std::vector<std::string> WarningFlags() const;
};

// Reads the facts and judges them. Thread-safe.
class Preflight {
 public:
  // `nvml` may be null.
  Preflight(std::shared_ptr<const Nvml> nvml, std::string spool_folder);

  // Of these GPUs and the host. Takes some milliseconds; should the driver not
  // answer within `budget`, twice that is waited and then its silence is an ERROR.
  PreflightReport Run(const std::vector<int>& gpu_indices, Duration budget) const;

 private:
  const std::shared_ptr<const Nvml> nvml_;
  const std::string spool_folder_;
};

}  // namespace assay::agent
