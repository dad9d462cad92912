#include "agent/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <set>
#include <utility>
#include <vector>

#include "common/host_port.h"
#include "common/subprocess.h"
#include "common/text.h"
#include "wire/bounds.h"

namespace assay::agent {
namespace {

constexpr int kUsageError = 2;
constexpr char kNotPlain[] = ": write text in UTF-8 without control characters";

// Returns the default folder for state; empty if it cannot be determined.
std::string DefaultDataFolder() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state != '\0') {
    return std::string(state) + "/assay-agent";
  }
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? "" : std::string(home) + "/.local/state/assay-agent";
}

bool IsHostId(const std::string& text) {
  constexpr size_t kMostBytes = 64;
  return text.size() <= kMostBytes && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return c < 0x80 && (std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.');
         });
}

// Adds "rack=7" to `labels`.
Status AddLabel(const std::string& text, schema::Labels* labels) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return InvalidArgument("write KEY=VALUE; " + Quote(text) + " has no \"=\"");
  }
  const std::string key = text.substr(0, equals);
  const std::string value = text.substr(equals + 1);
  ASSAY_RETURN_IF_ERROR(schema::CheckLabel(key, value));
  if (labels->contains(key)) return InvalidArgument(key + " is given twice");
  ASSAY_RETURN_IF_ERROR(schema::CheckLabelCase(key, *labels));
  (*labels)[key] = value;
  if (labels->size() > schema::kMaxLabels) {
    return InvalidArgument("more than " + std::to_string(schema::kMaxLabels) + " labels");
  }
  return Status::Ok();
}

void AddOptions(CLI::App* app, AgentOptions* options, std::vector<std::string>* labels) {
  app->set_version_flag("--version", std::string("assay-agent ") + ASSAY_VERSION);
  app->add_option("--data", options->data,
                  "Folder of the node's identity and of results that wait for a coordinator")
      ->capture_default_str();
  app->add_option(
         "--coordinator", options->coordinators,
         "HOST:PORT of the coordinators to attach to, separated by commas; may be repeated. "
         "Without it, one may dial this agent")
      ->delimiter(',')
      ->allow_extra_args(false);
  app->add_option(
         "--listen", options->listen,
         "HOST:PORT for gRPC; \"\" for none, port 0 for any free one (default with --coordinator: "
         "none)")
      ->capture_default_str();
  app->add_option("--http", options->http,
                  "HOST:PORT for /metrics and /healthz; \"\" for none, port 0 for any")
      ->capture_default_str();
  app->add_option("--name", options->name, "What people call this node (default: the host name)");
  app->add_option("--label", *labels, "KEY=VALUE for node filters; may be repeated")
      ->allow_extra_args(false);
  app->add_option("--provider", options->provider, "Who rents this node out");
  app->add_option("--region", options->region, "Where it stands");
  app->add_option("--price", options->price_per_hour, "US dollars an hour for the whole node");
  app->add_option("--runner", options->runner,
                  "Path of assay-runner (default: beside this program)");
  app->add_option("--gpus", options->gpus,
                  "GPUs that this agent has, by number or UUID, separated by commas; it numbers "
                  "them from 0 (default: all of the node's)")
      ->delimiter(',');
  app->add_option("--advertise-address", options->advertise_address,
                  "Address on which ranks on other nodes reach this one");
  app->add_option("--nccl-host-id", options->nccl_host_id,
                  "What NCCL takes for this host in gangs over several nodes: agents with the same "
                  "one share memory and NVLink (default: the node's id, so that none do)");
  app->add_option("--tls-cert", options->tls.certificate, "PEM file: certificate chain");
  app->add_option("--tls-key", options->tls.key, "PEM file: private key");
  app->add_option("--tls-ca", options->tls.authorities,
                  "PEM file: authorities that peers must chain to");
  app->add_flag("--insecure", options->insecure, "Allow plaintext beyond loopback");
  app->add_option("--log-level", options->log_level, "debug, info, warn or error")
      ->capture_default_str();
  app->add_option("--ready-fd", options->ready_fd,
                  "Write the addresses, as one line of JSON, to this descriptor when serving");
  app->add_option(kAttachedOption, options->attached_fd)->group("");  // For `join --detach`.
  app->footer(
      "\"assay-agent join --help\" tells how to join a fleet, \"stop\" ends an agent in the "
      "background, \"simulate\" simulates a fleet.\n"
      "Exit status: 0 ended by SIGTERM or SIGINT; 1 cannot start; 2 a flag, an address, a "
      "certificate or the identity is wrong, or the node was banned or removed.");
}

Status UsageError(const std::string& message) { return InvalidArgument(message); }

// Checks what was parsed, and completes it.
Status Complete(const CLI::App& app, const std::vector<std::string>& labels, AgentOptions* parsed) {
  AgentOptions& options = *parsed;
  std::erase(options.coordinators, "");
  options.listen_given = app.count("--listen") > 0;
  // An agent that connects to coordinators itself does not need to listen.
  if (!options.coordinators.empty() && !options.listen_given) options.listen.clear();
  if (options.data.empty()) return UsageError("--data is needed: there is no home folder");
  // Make the path absolute, because the process in the background has another current folder.
  options.data = std::filesystem::absolute(options.data).lexically_normal().string();
  if (!options.name.empty() && !schema::IsNodeName(options.name)) {
    return UsageError("--name: write 1 to 200 printable ASCII characters, no spaces at the ends");
  }
  for (const auto& [flag, text] :
       {std::pair("--provider", &options.provider), {"--region", &options.region}}) {
    if (!IsPlainText(*text)) return UsageError(std::string(flag) + kNotPlain);
  }
  if (const auto price = options.price_per_hour) {
    const Status sane = schema::CheckPrice(*price);
    if (!sane.ok()) return UsageError("--price: " + sane.message());
  }
  if (!IsHostId(options.nccl_host_id)) {
    return UsageError("--nccl-host-id: write at most 64 letters, digits, \"_\", \"-\" and \".\"");
  }
  for (const std::string& label : labels) {
    const Status added = AddLabel(label, &options.labels);
    if (!added.ok()) {
      return UsageError("--label: " + added.message() +
                        (added.hint().empty() ? "" : "; " + added.hint()));
    }
  }
  std::vector<std::pair<const char*, std::string>> addresses = {{"--listen", options.listen},
                                                                {"--http", options.http}};
  for (const std::string& one : options.coordinators) addresses.emplace_back("--coordinator", one);
  for (const auto& [flag, address] : addresses) {
    const Result<HostPort> parsed = ParseHostPort(address);
    if (!address.empty() && !parsed.ok()) {
      return UsageError(std::string(flag) + ": " + parsed.status().message());
    }
  }
  if (options.runner.empty()) options.runner = ExecutableDirectory() + "/assay-runner";
  return Status::Ok();
}

// Parses with `app`. Returns the exit code if the program must end.
std::optional<int> Parse(CLI::App* app, int argc, char** argv) {
  try {
    app->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app->exit(error) == 0 ? 0 : kUsageError;
  }
  return std::nullopt;
}

int Report(const Status& error) {
  std::cerr << "assay-agent: " << error.message()
            << (error.hint().empty() ? "" : "; " + error.hint()) << "\n";
  return kUsageError;
}

// Removes the variable of the environment, also from /proc/PID/environ.
std::string TakeInvite() {
  char* const value = std::getenv("ASSAY_INVITE");
  if (value == nullptr) return "";
  const std::string invite = value;
  std::memset(value, 'x', invite.size());
  ::unsetenv("ASSAY_INVITE");
  return invite;
}

// Returns the options that were given, except those in `without`.
std::vector<std::string> GivenOptions(const CLI::App& app, const std::set<std::string>& without) {
  std::vector<std::string> given;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty() || without.contains(option->get_lnames().front())) continue;
    const bool flag = option->get_expected_min() == 0;
    for (const std::string& value : option->results()) {
      given.push_back("--" + option->get_lnames().front());
      if (!flag) given.push_back(value);
    }
  }
  return given;
}

}  // namespace

ParsedOptions ParseOptions(int argc, char** argv) {
  AgentOptions options;
  options.data = DefaultDataFolder();
  std::vector<std::string> labels;
  CLI::App app("Measures this node for an Assay coordinator.", "assay-agent");
  AddOptions(&app, &options, &labels);
  if (const auto exit_code = Parse(&app, argc, argv)) return {std::nullopt, *exit_code};
  const Status complete = Complete(app, labels, &options);
  if (!complete.ok()) return {std::nullopt, Report(complete)};
  return {std::move(options), 0};
}

ParsedJoin ParseJoinOptions(int argc, char** argv) {
  JoinOptions options;
  options.agent.data = DefaultDataFolder();
  // Do not serve metrics by default. The coordinator already exports this node's metrics, and
  // another agent on this machine may be using the port.
  options.agent.http.clear();
  options.token = TakeInvite();
  std::vector<std::string> labels;
  CLI::App app(
      "Joins a fleet with an invite, checks this node, and runs the agent. \"assay node invite\" "
      "prints the line that does this.",
      "assay-agent join");
  app.add_option("--url", options.point.url, "https://HOST:PORT where the coordinator lets join")
      ->required();
  app.add_option("--pin", options.point.pin, "SHA-256 of that server's key, in base64")->required();
  app.add_option("TOKEN", options.token,
                 "The invite's token (default: environment variable ASSAY_INVITE)");
  app.add_flag("--detach", options.detach,
               "Run the agent in the background and return once it is attached; end it with "
               "\"assay-agent stop\"");
  AddOptions(&app, &options.agent, &labels);
  app.footer(
      "Exit status: 0 ended by SIGTERM or SIGINT, or attached with --detach; 1 cannot start, or "
      "not attached yet; 2 an option, the invite, a certificate or the identity is wrong.");
  if (const auto exit_code = Parse(&app, argc, argv)) return {std::nullopt, *exit_code};
  Status complete = Complete(app, labels, &options.agent);
  if (complete.ok() && options.token.empty()) {
    complete = InvalidArgument("the token of an invite is needed: TOKEN or ASSAY_INVITE");
  }
  if (complete.ok() && !options.agent.tls.empty()) {
    complete = InvalidArgument(
        "join makes its own certificate; leave out --tls-cert, --tls-key "
        "and --tls-ca");
  }
  if (!complete.ok()) return {std::nullopt, Report(complete)};
  options.agent_arguments = GivenOptions(
      app, {"url", "pin", "detach", "data", "http", "name", "ready-fd", "help", "version"});
  options.agent_arguments.insert(options.agent_arguments.end(),
                                 {"--data", options.agent.data, "--http", options.agent.http});
  return {std::move(options), 0};
}

ParsedStop ParseStopOptions(int argc, char** argv) {
  std::string data = DefaultDataFolder();
  CLI::App app("Ends the agent that \"assay-agent join --detach\" started.", "assay-agent stop");
  app.add_option("--data", data, "The agent's data folder")->capture_default_str();
  if (const auto exit_code = Parse(&app, argc, argv)) return {std::nullopt, *exit_code};
  if (data.empty()) {
    return {std::nullopt, Report(InvalidArgument("--data is needed: there is no home folder"))};
  }
  return {std::filesystem::absolute(data).lexically_normal().string(), 0};
}

}  // namespace assay::agent
