// assay deploy: runs the line of an invite on many hosts over ssh.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cli/commands/app.h"
#include "cli/commands/invites.h"
#include "cli/commands/pages.h"
#include "cli/deploy/deploy_view.h"
#include "cli/deploy/host_file.h"
#include "cli/views/identity_view.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/mutex.h"
#include "common/subprocess.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr size_t kMaxHostFileBytes = size_t{1} << 20;
// Downloading the archive takes a minute at 3 Mbit/s.
constexpr Duration kHostTimeout = std::chrono::minutes(10);
// The time within which the node must open a session after the command on the host has ended.
constexpr Duration kSessionTimeout = std::chrono::seconds(30);
constexpr std::chrono::milliseconds kSessionPoll{500};

struct DeployOptions {
  std::string hosts;
  int parallel = 8;
  bool dry_run = false;
  OutputFormat format = OutputFormat::kTable;
};

// Returns the script that a host's shell reads from its standard input. The script is a single
// compound command, so that the shell reads all of it before starting any program. Otherwise, a
// program could consume the rest of the script, because programs share the shell's standard input.
std::string ScriptOf(const std::string& command, const std::string& wget_command) {
  return "{ if command -v curl >/dev/null 2>&1 || ! command -v wget >/dev/null 2>&1; then\n" +
         command + " --detach\nelse\n" + wget_command + " --detach\nfi; } </dev/null\nexit $?\n";
}

// Returns the last non-blank line of `output`. If that is just the hint that Assay prints after an
// error, also returns the preceding line.
std::string LastLine(const std::string& output) {
  std::string last;
  for (const std::string_view line : Split(output, '\n')) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const bool hint = line.starts_with("hint: ") && !last.empty();
    last = hint ? last + "; " + std::string(line) : std::string(line);
  }
  return Cut(last, 500);
}

// Runs the script on the host through ssh and returns the last line of its output. If the script
// fails, returns an error with that line as the message.
Result<std::string> RunOnHost(const DeployHost& host, const std::string& script) {
  ASSAY_ASSIGN_OR_RETURN(Pipe input, MakePipe());
  // The script is smaller than the pipe's buffer.
  if (write(input.write.get(), script.data(), script.size()) !=
      static_cast<ssize_t>(script.size())) {
    return Internal("cannot pass the script to ssh");
  }
  input.write.Close();
  SubprocessOptions options;
  options.argv = host.SshCommand();
  options.descriptors = {{0, input.read.get()}};
  options.die_with_parent = true;
  ASSAY_ASSIGN_OR_RETURN(const CommandOutput output, RunCommand(options, kHostTimeout));
  std::string last = LastLine(output.output);
  if (output.exit.ok()) return last;
  return FailedPrecondition(last.empty() ? "ssh " + output.exit.ToString() : last,
                            Reason::kChildFailed);
}

// Returns true if the node has a live session.
Result<bool> IsConnected(Client& client, const std::string& name) {
  v1::GetNodeRequest request;
  request.set_node(name);
  const Result<v1::GetNodeResponse> response =
      client.Call(&v1::NodeService::Stub::GetNode, request);
  if (response.ok()) return response->node().state() == v1::NODE_STATE_CONNECTED;
  if (response.status().code() == Code::kNotFound) return false;
  return response.status();
}

// Waits until the node has connected to the coordinator. If the node does not connect, the error
// includes `last`, the last line printed on the host by the command for joining. That command may
// have failed even if the shell reported success: in a pipe, the shell ignores the exit code of the
// download.
Status AwaitSession(Client& client, const std::string& name, const std::string& last) {
  const Clock& clock = Clock::Real();
  const MonotonicTime deadline = clock.Now() + kSessionTimeout;
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const bool connected, IsConnected(client, name));
    if (connected) return Status::Ok();
    if (clock.Now() > deadline) {
      return Unavailable("node " + name + " has no session 30 s after the line ended" +
                         (last.empty() ? "" : ": " + last));
    }
    std::this_thread::sleep_for(kSessionPoll);
  }
}

Status JoinHost(Client& client, const DeployHost& host) {
  v1::CreateInviteRequest request;
  *request.mutable_scope() = host.scope;
  ASSAY_ASSIGN_OR_RETURN(const v1::CreateInviteResponse invite, CreateInvite(client, request));
  const Result<std::string> ran =
      RunOnHost(host, ScriptOf(invite.command(), invite.wget_command()));
  const Status joined = ran.ok() ? AwaitSession(client, host.scope.name(), *ran) : ran.status();
  // Revoke the invite, because its token may still be in a log of the host or known to its user.
  if (!joined.ok()) static_cast<void>(RevokeInvite(client, invite.invite().invite_id()));
  return joined;
}

std::string TextOfError(const Status& status) {
  std::string text = status.message();
  for (const Violation& one : status.violations()) {
    text += "; " + one.field + ": " + one.description;
  }
  return text;
}

// Returns the names of nodes with a live session.
Result<std::set<std::string>> ConnectedNodes(Client& client) {
  ASSAY_ASSIGN_OR_RETURN(const auto nodes, CollectPages(client, &v1::NodeService::Stub::ListNodes,
                                                        v1::ListNodesRequest()));
  std::set<std::string> connected;
  for (const v1::Node& node : nodes) {
    if (node.state() == v1::NODE_STATE_CONNECTED) connected.insert(node.description().name());
  }
  return connected;
}

// Says what would be run on each host, without a token.
void PrintPlan(const std::vector<DeployHost>& hosts, const std::vector<DeployResult>& results) {
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (results[i].outcome == DeployResult::Outcome::kSkipped) {
      Print(Sanitize(results[i].host + ": would be skipped: " + results[i].message) + "\n");
      continue;
    }
    std::vector<std::string> command = hosts[i].SshCommand();
    command.back() = "'" + command.back() + "'";
    Print(Sanitize(results[i].host + ": would join as node " + ScopeText(hosts[i].scope)) + "\n  " +
          Join(command, " ") + "\n");
  }
  Print("\nEach host would get an invite of its own and run its line with --detach.\n");
}

Result<std::string> ReadHosts(const std::string& path) {
  if (path != "-") return ReadFile(path, kMaxHostFileBytes);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

Result<ExitCode> Deploy(Context& context, const DeployOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadHosts(options.hosts));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<DeployHost> hosts, ParseHostFile(text, options.hosts));
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  ASSAY_ASSIGN_OR_RETURN(const auto connected, ConnectedNodes(client));
  std::vector<DeployResult> results(hosts.size());
  std::vector<size_t> missing;
  for (size_t i = 0; i < hosts.size(); ++i) {
    results[i].host = hosts[i].ToString();
    results[i].node = hosts[i].scope.name();
    if (connected.contains(results[i].node)) {
      results[i].outcome = DeployResult::Outcome::kSkipped;
      results[i].message = "node " + results[i].node + " is connected";
    } else {
      missing.push_back(i);
    }
  }
  if (options.dry_run) {
    PrintPlan(hosts, results);
    return kExitDone;
  }
  std::atomic<size_t> next{0};
  Mutex printing;
  const auto work = [&] {
    for (size_t at = next++; at < missing.size(); at = next++) {
      DeployResult& result = results[missing[at]];
      const Clock& clock = Clock::Real();
      const MonotonicTime start = clock.Now();
      const Status joined = JoinHost(client, hosts[missing[at]]);
      result.seconds = std::chrono::duration<double>(clock.Now() - start).count();
      if (joined.ok()) result.outcome = DeployResult::Outcome::kJoined;
      if (!joined.ok()) result.message = TextOfError(joined);
      MutexLock lock(printing);
      PrintError(Sanitize(result.host) + (joined.ok() ? ": joined\n" : ": failed\n"));
    }
  };
  std::vector<std::thread> threads;
  const size_t count = std::min(missing.size(), static_cast<size_t>(options.parallel));
  for (size_t i = 0; i < count; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (options.format == OutputFormat::kJson) {
    Print(DeployJson(results));
  } else if (options.format == OutputFormat::kCsv) {
    Print(DeployCsv(results));
  } else {
    Print(DeployText(results, StyleOf(STDOUT_FILENO)));
  }
  const bool failed = std::any_of(results.begin(), results.end(), [](const DeployResult& one) {
    return one.outcome == DeployResult::Outcome::kFailed;
  });
  return failed ? kExitFailed : kExitDone;
}

}  // namespace

void AddDeployCommand(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("deploy", "Add the machines of a list to the fleet over ssh");
  auto options = std::make_shared<DeployOptions>();
  command
      ->add_option("--hosts", options->hosts,
                   "File with one [USER@]HOST[:PORT] per line, optionally followed by name=NAME, "
                   "label=KEY=VALUE and price=DOLLARS_PER_HOUR; - for standard input")
      ->required()
      ->check(NotEmpty());
  command->add_option("--parallel", options->parallel, "Hosts at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command->add_flag("--dry-run", options->dry_run, "Only say what would run where");
  AddOutputOption(*command, options->format);
  command->footer(
      "Uses the program ssh with BatchMode, so that keys and known hosts must be set up: ssh HOST "
      "true must work without questions. Every host gets an invite of its own. A host whose node "
      "is connected is skipped. Exit status: 1 if a host failed, whose last line is shown.");
  OnRun(*command, context, options, Deploy);
}

}  // namespace assay::cli
