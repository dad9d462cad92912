// Implements `assay up`, which runs PostgreSQL, a coordinator and an agent on this machine.
#include <signal.h>

#include <memory>
#include <string>

#include "cli/commands/app.h"
#include "cli/commands/interrupt.h"
#include "cli/up/data_folder.h"
#include "cli/up/stack.h"
#include "cli/up/supervise.h"

namespace assay::cli {
namespace {

ExitCode ReportFailedStart(const Status& status) {
  // The hint may be the end of a log.
  const std::string& hint = status.hint();
  const bool one_line = !hint.empty() && !hint.ends_with("\n");
  PrintError("assay: " + status.message() + "\n" + (one_line ? "hint: " + hint + "\n" : hint));
  return status.code() == Code::kInvalidArgument ? kExitUsage : kExitFailed;
}

Result<ExitCode> Up(Context& context, UpOptions& options) {
  options.tls = context.client.tls;
  options.insecure = context.client.insecure;
  options.agent_tls.authorities = options.tls.authorities;
  // With --tls-ca, the coordinator asks its clients for certificates.
  if (!options.no_agent && !options.tls.authorities.empty() &&
      options.agent_tls.certificate.empty()) {
    return InvalidArgument("the agent needs a node's certificate of its own")
        .WithHint("give --agent-tls-cert and --agent-tls-key, or --no-agent");
  }
  const bool is_public = !options.public_host.empty();
  if (options.simulate > 0 && (is_public || !options.tls.certificate.empty())) {
    return InvalidArgument(
               "--simulate works without TLS only: simulated nodes have no certificates")
        .WithHint(is_public ? "leave --public out" : "leave the --tls options out");
  }
  if (is_public && !(options.tls.empty() && options.agent_tls.empty() && !options.insecure)) {
    return InvalidArgument("--public makes the certificates itself")
        .WithHint("leave the --tls and --agent-tls options and --insecure out");
  }
  // The servers must continue even if the reader of our output exits.
  signal(SIGPIPE, SIG_IGN);
  // Signals are read from this descriptor, so that no child outlives this process.
  const FileDescriptor signals = BlockTerminationSignals();
  ASSAY_ASSIGN_OR_RETURN(const DataFolder folder, OpenDataFolder(options.data));
  Stack stack(options, folder.path, signals.get());
  const Status started = stack.Start();
  if (started.ok()) {
    Print(stack.ReadyText());
    Supervise(stack.Programs(), signals.get());
    PrintError("Stopping ...\n");
  }
  stack.Stop();
  if (started.ok()) return kExitDone;
  if (started.reason() == Reason::kInterrupted) return ExitCodeOfSignal(ReadSignal(signals));
  return ReportFailedStart(started);
}

}  // namespace

void AddUpCommand(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("up", "Run everything here: private PostgreSQL, coordinator and an agent");
  auto options = std::make_shared<UpOptions>();
  options->data = DefaultDataDirectory();
  command->add_option("--data", options->data, "Folder of database, logs and agent state")
      ->capture_default_str();
  CLI::Option* listen =
      command
          ->add_option("--listen", options->listen,
                       "gRPC address of the coordinator; the agent takes the next port")
          ->capture_default_str();
  CLI::Option* public_host =
      command
          ->add_option("--public", options->public_host,
                       "Host name or IP address under which other machines reach this one. They "
                       "can then join by `assay node invite`, and the fleet has an authority of "
                       "its own and TLS. --listen is 0.0.0.0:7900 unless it is given")
          ->type_name("HOST")
          ->check(NotEmpty());
  command
      ->add_option("--join", options->join, "With --public: address where machines join over HTTPS")
      ->capture_default_str()
      ->needs(public_host);
  command
      ->add_option("--http", options->http,
                   "Address of the coordinator's /metrics; the agent takes the next port")
      ->capture_default_str();
  command
      ->add_option(
          "--console", options->console,
          "Address of the web console; \"\" for none. Beyond loopback it needs the two TLS "
          "files, and asks for the token in the URL that is printed")
      ->capture_default_str();
  command->add_option("--console-tls-cert", options->console_tls.certificate,
                      "PEM file: certificate chain of the console");
  command->add_option("--console-tls-key", options->console_tls.key,
                      "PEM file: private key of the console");
  command
      ->add_option("--console-host", options->console_hosts,
                   "Name under which browsers reach the console; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command->add_option("--agent-tls-cert", options->agent_tls.certificate,
                      "PEM file: the agent's certificate, with the role node");
  command->add_option("--agent-tls-key", options->agent_tls.key,
                      "PEM file: the key of --agent-tls-cert");
  command->add_flag("--no-agent", options->no_agent, "Only PostgreSQL and the coordinator");
  command
      ->add_option(
          "--simulate", options->simulate,
          "Also simulate this many nodes with eight H200 each (see `assay-agent simulate`)")
      ->check(CLI::Range(1, 10'000));
  command->footer(
      "A program that ends is started again, after 1 s at first and 30 s at most. Exit status: 0 "
      "after SIGINT or SIGTERM; 1 or 2 if a program cannot start; 130 or 143 after SIGINT or "
      "SIGTERM during the start.");
  OnRun(*command, context, options, [listen](Context& app_context, UpOptions& given) {
    if (!given.public_host.empty() && listen->count() == 0) given.listen = "0.0.0.0:7900";
    return Up(app_context, given);
  });
}

}  // namespace assay::cli
