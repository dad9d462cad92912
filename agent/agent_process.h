// The parts of an assay-agent process, from its start to its end.
#pragma once

#include <grpcpp/server.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/core/node.h"
#include "agent/core/occupancy.h"
#include "agent/core/preflight.h"
#include "agent/core/session.h"
#include "agent/core/spool.h"
#include "agent/core/supervisor.h"
#include "agent/join/renewer.h"
#include "agent/options.h"
#include "agent/rpc/agent_service.h"
#include "agent/rpc/attach_client.h"
#include "common/executor.h"
#include "common/subprocess.h"
#include "host/nvml.h"
#include "http/metrics_server.h"
#include "wire/acceptor.h"
#include "wire/roles.h"

namespace assay::agent {

// An agent's data folder. It is locked while the object exists, so a second agent cannot use it.
class DataFolder {
 public:
  // Opens and locks the data folder, creating it if necessary. If the folder has no node id yet,
  // stores `required_id` or, if that is empty, a new random id. Fails if `required_id` is not empty
  // and the folder already has a different id.
  static Result<DataFolder> Open(const std::string& path, const std::string& required_id);

  const std::string& node_id() const { return node_id_; }
  const std::string& path() const { return path_; }
  std::string spool() const { return path_ + "/spool"; }

 private:
  DataFolder(std::string path, FileDescriptor lock, std::string node_id);

  std::string path_;
  FileDescriptor lock_;
  std::string node_id_;
};

// Callbacks for events of a running agent. They are called on the agent's threads and must return
// quickly.
struct AgentEvents {
  // A session with a coordinator was opened.
  std::function<void()> attached;
  // Called when the agent must exit because it can never connect. `why` gives the cause and tells
  // the user what to do.
  std::function<void(const Status& why)> refused;
};

// A running agent. Not thread-safe.
class AgentProcess {
 public:
  // Starts the agent: takes inventory of the node, asks the runner program for its benchmarks, and
  // starts serving. On failure, the error explains the cause.
  static Result<std::unique_ptr<AgentProcess>> Start(const AgentOptions& options,
                                                     AgentEvents events = {});

  // Hands unfinished jobs back to the coordinator (see Session::HandBack) and stops the agent.
  // Takes up to 10 s, or longer if the GPU driver does not respond.
  ~AgentProcess();
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;

  // Returns {"grpc": "HOST:PORT", "http": "HOST:PORT", "node_id": "..."} on one line.
  std::string ReadyLine() const;

 private:
  AgentProcess(AgentOptions options, AgentEvents events, std::optional<Identity> identity,
               DataFolder data);

  Status OpenNode();
  v1::NodeDescription Describe(v1::HealthFinding* trouble) const;
  Status StartSession();
  Status Serve();
  Status Attach();
  void OnCallEnded(const std::string& address, const Status& why, bool had_session);
  void StartRenewer();
  std::shared_ptr<prometheus::Collectable> Metrics() const;

  struct Explanations;

  const AgentOptions options_;
  const AgentEvents events_;
  const std::optional<Identity> identity_;  // In the node's certificate.
  DataFolder data_;
  std::shared_ptr<const Nvml> nvml_;
  std::shared_ptr<Spool> spool_;
  std::shared_ptr<const Preflight> preflight_;
  std::shared_ptr<Node> node_;
  Occupancy occupancy_;
  std::unique_ptr<http::MetricsServer> http_;
  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<Executor> executor_;
  std::shared_ptr<Session> session_;
  std::unique_ptr<AgentServiceImpl> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<rpc::Acceptor> acceptor_;
  std::string grpc_address_;
  std::unique_ptr<AttachClient> attach_;
  const std::shared_ptr<Explanations> explanations_;
  std::unique_ptr<Renewer> renewer_;
};

}  // namespace assay::agent
