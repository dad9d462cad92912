// Programs that `assay up` runs: PostgreSQL, the coordinator, an agent and perhaps a simulation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/up/child_program.h"
#include "cli/up/private_postgres.h"
#include "cli/up/public_fleet.h"
#include "cli/up/supervise.h"
#include "common/status.h"
#include "wire/credentials.h"

namespace assay::cli {

struct UpOptions {
  std::string data;
  std::string listen = "127.0.0.1:7900";
  std::string http = "127.0.0.1:9900";
  std::string console = "127.0.0.1:7980";
  std::string join = "0.0.0.0:7943";  // Only with `public_host`.
  std::string public_host;            // Empty: nodes of other machines cannot join.
  rpc::TlsFiles console_tls;
  std::vector<std::string> console_hosts;
  bool no_agent = false;
  int simulate = 0;  // Number of simulated nodes.
  rpc::TlsFiles tls;
  rpc::TlsFiles agent_tls;
  bool insecure = false;
};

// PostgreSQL, the coordinator and the agent. They are destroyed in reverse order of their start.
class Stack {
 public:
  // `options` must outlive the Stack. `signals` is a signalfd that interrupts the start.
  Stack(const UpOptions& options, std::string folder, int signals);

  Status Start();
  // Returns the running programs. Each has a function that starts it again at its previous address.
  std::vector<Supervised> Programs();
  // Returns what to print once everything serves.
  std::string ReadyText() const;
  void Stop();

 private:
  Status StartCoordinator(const std::string& listen, const std::string& http);
  // Enrols the user and the agent of this machine in a public fleet.
  Status EnrolHere();
  Status StartAgent(const std::string& listen, const std::string& http);
  std::string AgentFolder() const;
  Status StartSimulation();
  Status StartChild(ChildOptions& child, const rpc::TlsFiles& tls, const std::string& log,
                    std::optional<ChildProgram>& started);
  // Returns the URL at which a browser on this host can open the console. If the console listens
  // beyond loopback, browsers on other hosts can also use the URL. The console's token follows the
  // "#", because browsers do not send that part of a URL to servers.
  std::string ConsoleUrl() const;
  // Returns what to do next.
  std::string NextSteps() const;

  const UpOptions& options_;
  const std::string folder_;
  const int signals_;
  std::optional<PublicFleet> public_;
  std::string context_;  // Of this user in a public fleet.
  std::string console_;  // Where the coordinator serves its console.
  const std::string console_token_;
  std::string agent_listen_;
  std::string agent_http_;
  std::optional<PrivatePostgres> postgres_;
  std::optional<ChildProgram> coordinator_;
  std::optional<ChildProgram> agent_;
  std::optional<ChildProgram> simulation_;
};

}  // namespace assay::cli
