// Runs jobs: preflight, one runner process per rank, and results completed with the agent's facts.
#pragma once

#include <memory>
#include <string>

#include "agent/core/job_launcher.h"
#include "agent/core/node.h"
#include "agent/core/preflight.h"

namespace assay::agent {

struct SupervisorOptions {
  std::string runner;  // Path of assay-runner.
  std::string advertise_address;
  // The time limit for the rest of an event of which a runner has written the beginning.
  Duration event_patience = std::chrono::seconds(10);
  std::string cache_folder;  // See RunnerEnvironment.
  std::string nccl_host_id;  // See GangEnvironment; empty: the node's id.
  // The time limit until all ranks are ready. The limit until a gang starts is twice as long.
  Duration prepare = std::chrono::seconds(60);
};

// Starts and supervises the processes of jobs. Each launched job has a thread of its own.
// Thread-safe; must outlive its jobs.
class Supervisor : public JobLauncher {
 public:
  Supervisor(SupervisorOptions options, std::shared_ptr<Node> node,
             std::shared_ptr<const Preflight> preflight);

  std::unique_ptr<LaunchedJob> Launch(v1::JobSpec spec, JobEvents events) override;

 private:
  const SupervisorOptions options_;
  const std::shared_ptr<Node> node_;
  const std::shared_ptr<const Preflight> preflight_;
};

}  // namespace assay::agent
