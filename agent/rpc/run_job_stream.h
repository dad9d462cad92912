// One RunJob call: a job of one case whose progress and result are streamed to the caller.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>

#include "agent/core/job_launcher.h"
#include "agent/core/node.h"
#include "agent/core/occupancy.h"
#include "assay/v1/agent_service.pb.h"
#include "common/executor.h"

namespace assay::agent {

// The agent's parts that direct jobs need; all outlive every call.
struct DirectJobHost {
  std::shared_ptr<Node> node;
  JobLauncher* launcher = nullptr;
  Occupancy* occupancy = nullptr;
  Executor* executor = nullptr;
  std::string runner;  // Path of the program.
};

// Creates the call's reactor, which deletes itself when gRPC has finished with it. The job is
// stopped when the caller disconnects.
grpc::ServerWriteReactor<v1::RunJobResponse>* StartRunJob(const DirectJobHost& host,
                                                          const v1::RunJobRequest& request);

}  // namespace assay::agent
