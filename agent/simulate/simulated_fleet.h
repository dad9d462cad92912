// Runs many simulated nodes in one process, each with its own session.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/core/node.h"
#include "agent/core/session.h"
#include "agent/rpc/attach_client.h"
#include "agent/simulate/faults.h"
#include "agent/simulate/options.h"
#include "common/executor.h"

namespace assay::agent {

// A fleet of simulated nodes, which runs until it is destroyed. All sessions share one thread, and
// all jobs share another one.
class SimulatedFleet {
 public:
  // Starts the simulation. The nodes connect to the coordinator one after another, at a rate of 500
  // per second. On failure, the error says which option or file is wrong.
  static Result<std::unique_ptr<SimulatedFleet>> Start(const SimulateOptions& options);

  // Hands all jobs back (see Session::HandBack) and stops. Takes up to 10 s.
  ~SimulatedFleet();
  SimulatedFleet(const SimulatedFleet&) = delete;
  SimulatedFleet& operator=(const SimulatedFleet&) = delete;

 private:
  class SimulatedNode;

  explicit SimulatedFleet(SimulateOptions options);
  Status Open();
  Status MakeChannels(int count);
  void Add(int number, const v1::NodeDescription& profile,
           const std::shared_ptr<const Benchmarks>& benchmarks);
  void Schedule(SimulatedNode* node);

  const SimulateOptions options_;
  std::vector<Fault> faults_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::unique_ptr<Executor> jobs_;
  std::unique_ptr<Executor> sessions_;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
};

}  // namespace assay::agent
