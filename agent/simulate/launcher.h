// Runs a simulated node's jobs, without processes.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "agent/core/job_launcher.h"
#include "agent/core/node.h"
#include "agent/simulate/faults.h"
#include "agent/simulate/measurement.h"
#include "common/executor.h"

namespace assay::agent {

// Simulates jobs. Each job finishes after `job_time` with simulated results. The jobs of all nodes
// share `executor`, which must have exactly one thread and must outlive this object and its jobs.
class SimulatedLauncher : public JobLauncher {
 public:
  // `first_run` is that of SimulatedMeasurements.
  SimulatedLauncher(std::shared_ptr<const Node> node, std::vector<Fault> faults, uint64_t seed,
                    uint64_t first_run, Duration job_time, Executor* executor);

  std::unique_ptr<LaunchedJob> Launch(v1::JobSpec spec, JobEvents events) override;

  // Returns the indices of the GPUs that run jobs, each listed once per process that uses it. Call
  // this on the thread that launches and destroys the jobs.
  const std::multiset<int>& busy_gpus() const { return shared_->busy_gpus; }

  // The parts that all jobs of the node share.
  struct Shared {
    std::shared_ptr<const Node> node;
    std::vector<Fault> faults;
    Duration job_time;
    Executor* executor;
    SimulatedMeasurements measurements;  // Used on the executor.
    std::multiset<int> busy_gpus = {};   // Used on the session's executor.
  };

 private:
  const std::shared_ptr<Shared> shared_;
};

}  // namespace assay::agent
