// assay up
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "cli/commands/context.h"
#include "cli/up/up.h"

namespace assay::cli {
namespace {

// The user's own data folder; for root the system's, because PostgreSQL then runs as
// a user who cannot get into root's home.
std::string DefaultDataDirectory() {
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && data[0] == '/') {
    return std::string(data) + "/assay";
  }
  if (geteuid() == 0) return "/var/lib/assay";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr && *home != '\0' ? home : "/var/tmp") + "/.local/share/assay";
}

ExitCode Up(Context& context, UpOptions& options) {
  options.tls = context.client.tls;
  options.insecure = context.client.insecure;
  const Result<ExitCode> code = RunUp(options);
  return code.ok() ? *code : Report(code.status());
}

}  // namespace

void AddUpCommand(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("up", "Run everything here: private PostgreSQL, coordinator and an agent");
  auto options = std::make_shared<UpOptions>();
  options->data = DefaultDataDirectory();
  command->add_option("--data", options->data, "Folder of database, logs and agent state")
      ->capture_default_str();
  command
      ->add_option("--listen", options->listen,
                   "gRPC address of the coordinator; the agent takes the next port")
      ->capture_default_str();
  command
      ->add_option("--http", options->http,
                   "Address of the coordinator's /metrics; the agent takes the next port")
      ->capture_default_str();
  command->add_flag("--no-agent", options->no_agent, "Only PostgreSQL and the coordinator");
  OnRun(*command, context, options, Up);
}

}  // namespace assay::cli
