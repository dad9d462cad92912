// Runs jobs for real: preflight, one runner process a rank, results completed with
// what the agent knows.
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
  // How long a runner may take over the rest of an event that it has begun.
  Duration event_patience = std::chrono::seconds(10);
  std::string cache_folder;  // As RunnerEnvironment takes it.
  std::string nccl_host_id;  // As GangEnvironment takes it; empty: the node's id.
  // How long ranks may take to be ready; a gang waits twice that for its start.
  Duration prepare = std::chrono::seconds(60);
};

// Each launched job has a thread of its own. Thread-safe; outlives its jobs.
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
