#include "coordinator/options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <utility>

#include "common/log.h"
#include "common/units.h"
#include "wire/durations.h"

namespace assay::coordinator {
namespace {

constexpr Duration kMinHeartbeat = std::chrono::milliseconds(100);
constexpr Duration kMaxLease = std::chrono::hours(1);
constexpr double kMostRerunShare = 0.5;
constexpr int kJoinPort = 7943;

// Flags as parsed, before they are checked.
struct Flags {
  std::string listen = "127.0.0.1:7900";
  std::string advertise;
  std::string http = "127.0.0.1:9900";
  std::string console = "127.0.0.1:7980";
  web::ConsoleOptions console_options;
  std::string ca;
  std::string fleet = "assay";
  std::string node_certificate = "1h";
  std::optional<std::string> join;
  std::string advertise_join;
  std::string node_archive;
  std::string invite_ttl = "30m";
  std::string invite_output = "text";
  v1::InviteScope invite;
  std::string lease = "30s";
  std::string heartbeat = "5s";
  std::string keep_results;
  std::string keep_samples;
  double rerun_share = 0.02;
  std::string rerun_spacing = "10m";
  std::string judge_every = "30s";
};

void AddAuthorityOptions(CLI::App& app, Flags& flags) {
  CLI::Option* const ca = app.add_option(
      "--ca", flags.ca,
      "Folder with the fleet's own authority, which is made if it does not exist. "
      "Nodes and users then join by invites. Replaces --tls-* and --agent-tls-*: gRPC "
      "uses mutual TLS");
  app.add_option("--fleet", flags.fleet, "Name of the fleet, which its certificates have")
      ->needs(ca)
      ->capture_default_str();
  app.add_option("--join", flags.join,
                 "HOST:PORT for HTTPS, where nodes and users join; \"\" for none, port 0 for any "
                 "(default: host of --listen, port 7943)")
      ->needs(ca);
  app.add_option("--advertise-join", flags.advertise_join,
                 "HOST:PORT at which those who join reach --join (default: host of --advertise, "
                 "port of --join)")
      ->needs(ca);
  app.add_option("--node-certificate", flags.node_certificate,
                 "Life of a node's certificate, 1m to 24h; nodes renew it before it ends")
      ->capture_default_str();
  app.add_option("--node-archive", flags.node_archive,
                 "File: the archive of the node's programs (default: ../share/assay-node.deb "
                 "beside this program's folder)")
      ->needs(ca);
}

void AddInviteCommand(CLI::App& app, Flags& flags) {
  CLI::App* const invite = app.add_subcommand(
      "invite", "Make an invite, for whoever owns this machine: the first admin joins by it");
  invite
      ->add_option_function<std::string>(
          "--role", [&](const std::string& role) { flags.invite.set_role(role); },
          "node, viewer, submitter, operator or admin")
      ->required();
  invite->add_option_function<std::string>(
      "--name", [&](const std::string& name) { flags.invite.set_name(name); },
      "Name of the user, or of the node (default: the node's host name)");
  invite->add_option("--ttl", flags.invite_ttl, "Time for which the invite can be used")
      ->capture_default_str();
  invite->add_option("-o,--output", flags.invite_output, "text: what to run; json: also its parts")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

void AddOptions(CLI::App& app, Flags& flags, CoordinatorOptions& options) {
  app.set_version_flag("--version", std::string("assay-coordinator ") + ASSAY_VERSION);
  app.add_option("--listen", flags.listen, "HOST:PORT for gRPC; port 0 takes a free one")
      ->capture_default_str();
  app.add_option("--advertise", flags.advertise,
                 "HOST:PORT at which agents and users reach this coordinator (default: as "
                 "--listen)");
  app.add_option("--http", flags.http,
                 "HOST:PORT for /metrics, /healthz and /sd; \"\" for none, port 0 for any")
      ->capture_default_str();
  app.add_option("--console", flags.console,
                 "HOST:PORT for the web console; \"\" for none, port 0 for any. Beyond loopback it "
                 "needs --console-tls-cert, --console-tls-key and ASSAY_CONSOLE_TOKEN")
      ->capture_default_str();
  app.add_option("--console-host", flags.console_options.hosts,
                 "Name under which browsers reach the console, besides localhost and IP addresses; "
                 "may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--console-tls-cert", flags.console_options.tls_certificate,
                 "PEM file: certificate chain of the console");
  app.add_option("--console-tls-key", flags.console_options.tls_key,
                 "PEM file: private key of the console");
  app.add_option("--tls-cert", options.tls.certificate, "PEM file: certificate chain");
  app.add_option("--tls-key", options.tls.key, "PEM file: private key");
  app.add_option("--tls-ca", options.tls.authorities,
                 "PEM file: authorities that clients must chain to (mutual TLS)");
  app.add_option("--agent-tls-cert", options.agent_tls.certificate,
                 "As --tls-cert, for dialling agents (default: the same)");
  app.add_option("--agent-tls-key", options.agent_tls.key,
                 "As --tls-key, for dialling agents (default: the same)");
  app.add_option("--agent-tls-ca", options.agent_tls.authorities,
                 "As --tls-ca, for dialling agents (default: the same)");
  app.add_flag("--insecure", options.insecure, "Allow plaintext beyond loopback");
  AddAuthorityOptions(app, flags);
  app.add_option("--lease", flags.lease, "Time without a message after which an agent is lost")
      ->capture_default_str();
  app.add_option("--heartbeat", flags.heartbeat, "Interval at which agents report")
      ->capture_default_str();
  app.add_option("--keep-results", flags.keep_results,
                 "Age at which ended campaigns are deleted with their results, in whole months: "
                 "400d (default: never)");
  app.add_option("--keep-samples", flags.keep_samples,
                 "Age at which samples are deleted (default: with the results)");
  app.add_option("--rerun-share", flags.rerun_share,
                 "Reruns that confirm regressions, as a fraction of all runs; 0 for none")
      ->envname("ASSAY_RERUN_SHARE")
      ->capture_default_str();
  app.add_option("--rerun-spacing", flags.rerun_spacing, "Time between two such reruns of a case")
      ->envname("ASSAY_RERUN_SPACING")
      ->capture_default_str();
  app.add_option("--judge-every", flags.judge_every, "Interval at which new results are judged")
      ->envname("ASSAY_JUDGE_EVERY")
      ->capture_default_str();
  app.add_option("--log-level", options.log_level, "debug, info, warn or error")
      ->capture_default_str();
  app.add_option("--ready-fd", options.ready_fd,
                 "Write the addresses, as one line of JSON, to this descriptor when serving");
  AddInviteCommand(app, flags);
  app.footer(
      "ASSAY_DATABASE must hold libpq's connection string of the PostgreSQL database: key=value "
      "pairs or a URL. ASSAY_CONSOLE_TOKEN is the secret that the console asks browsers for; "
      "empty: "
      "none.\n\nExit status: 0 ended by SIGTERM or SIGINT; 1 cannot start, for example "
      "without its database; 2 invalid flag, address or TLS file.");
}

// Stores the value of a flag, or returns its error.
template <typename Value, typename Into>
Status Store(const char* flag, const Result<Value>& parsed, Into& into) {
  if (!parsed.ok()) return parsed.status().WithContext(flag);
  into = *parsed;
  return Status::Ok();
}

Status CheckConsoleFlags(const Flags& flags, CoordinatorOptions& options) {
  if (flags.console.empty()) return Status::Ok();
  web::ConsoleOptions console = flags.console_options;
  ASSAY_RETURN_IF_ERROR(Store("--console", ParseHostPort(flags.console), console.address));
  const char* const token = std::getenv("ASSAY_CONSOLE_TOKEN");
  if (token != nullptr) console.token = token;
  console.version = ASSAY_VERSION;
  ASSAY_RETURN_IF_ERROR(web::CheckConsole(console));
  options.console = std::move(console);
  options.console_required = flags.console != Flags().console;
  return Status::Ok();
}

// Returns the path of a file beside this program, or "" if it does not exist.
std::string InstalledFile(const std::string& relative) {
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto path = (program.parent_path() / relative).lexically_normal();
  return std::filesystem::exists(path, ignored) ? path.string() : "";
}

Status CheckAuthorityFlags(const Flags& flags, CoordinatorOptions& options) {
  if (flags.ca.empty()) return Status::Ok();
  if (!options.tls.empty() || !options.agent_tls.empty() || options.insecure) {
    return InvalidArgument(
        "--ca: the authority makes the certificates; leave out --tls-*, --agent-tls-* and "
        "--insecure");
  }
  AuthorityOptions authority;
  authority.folder = flags.ca;
  authority.fleet = flags.fleet;
  const std::string reached = AdvertisedAddress(options.advertise, options.listen);
  if (reached.empty()) {
    return InvalidArgument("--ca: nodes and users cannot connect to " + options.listen.ToString())
        .WithHint("give --advertise HOST:PORT, the address at which they reach this coordinator");
  }
  if (!flags.join) {
    authority.join = HostPort{options.listen.host, kJoinPort};
  } else if (!flags.join->empty()) {
    ASSAY_RETURN_IF_ERROR(Store("--join", ParseHostPort(*flags.join), authority.join));
  }
  if (!flags.advertise_join.empty()) {
    ASSAY_RETURN_IF_ERROR(
        Store("--advertise-join", ParseHostPort(flags.advertise_join), authority.advertise_join));
  } else if (authority.join) {
    authority.advertise_join = {options.advertise.value_or(options.listen).host,
                                authority.join->port};
  } else {
    return InvalidArgument("--join: without a join listener, invites need another coordinator's")
        .WithHint("give its address with --advertise-join HOST:PORT");
  }
  ASSAY_RETURN_IF_ERROR(Store("--node-certificate", ParseDuration(flags.node_certificate),
                              authority.node_certificate));
  if (authority.node_certificate < std::chrono::minutes(1) ||
      authority.node_certificate > std::chrono::hours(24)) {
    return InvalidArgument("--node-certificate: " + flags.node_certificate +
                           " is not between 1m and 24h");
  }
  authority.archive =
      flags.node_archive.empty() ? InstalledFile("../share/assay-node.deb") : flags.node_archive;
  options.authority = std::move(authority);
  return Status::Ok();
}

Status CheckInviteFlags(const Flags& flags, CoordinatorOptions& options) {
  if (!options.authority) {
    return InvalidArgument("invite: give --ca FOLDER, the authority of the running coordinator");
  }
  if (options.authority->advertise_join.port == 0) {
    return InvalidArgument("invite: the port of the join listener is not known")
        .WithHint("give --advertise-join HOST:PORT");
  }
  InviteCommand invite;
  invite.json = flags.invite_output == "json";
  *invite.request.mutable_scope() = flags.invite;
  Duration lifetime{0};
  ASSAY_RETURN_IF_ERROR(Store("--ttl", ParseDuration(flags.invite_ttl), lifetime));
  *invite.request.mutable_lifetime() = ToProto(lifetime);
  options.invite = std::move(invite);
  return Status::Ok();
}

Status CheckFlags(const Flags& flags, CoordinatorOptions& options) {
  ASSAY_RETURN_IF_ERROR(Store("--listen", ParseHostPort(flags.listen), options.listen));
  if (!flags.advertise.empty()) {
    ASSAY_RETURN_IF_ERROR(Store("--advertise", ParseHostPort(flags.advertise), options.advertise));
  }
  if (!flags.http.empty()) {
    ASSAY_RETURN_IF_ERROR(Store("--http", ParseHostPort(flags.http), options.http));
  }
  ASSAY_RETURN_IF_ERROR(CheckAuthorityFlags(flags, options));
  ASSAY_RETURN_IF_ERROR(CheckConsoleFlags(flags, options));
  ASSAY_RETURN_IF_ERROR(Store("--lease", ParseDuration(flags.lease), options.lease));
  ASSAY_RETURN_IF_ERROR(Store("--heartbeat", ParseDuration(flags.heartbeat), options.heartbeat));
  if (options.heartbeat < kMinHeartbeat) {
    return InvalidArgument("--heartbeat: " + flags.heartbeat + " is less than 100ms");
  }
  if (options.lease < 2 * options.heartbeat || options.lease > kMaxLease) {
    return InvalidArgument("--lease: " + flags.lease + " is not between two heartbeats (" +
                           flags.heartbeat + " each) and 1h");
  }
  if (!flags.keep_results.empty()) {
    ASSAY_RETURN_IF_ERROR(
        Store("--keep-results", ParseDuration(flags.keep_results), options.retention.results));
    if (options.retention.results < storage::kMinRetention) {
      return InvalidArgument("--keep-results: " + flags.keep_results + " is less than 14d");
    }
  }
  if (!flags.keep_samples.empty()) {
    ASSAY_RETURN_IF_ERROR(
        Store("--keep-samples", ParseDuration(flags.keep_samples), options.retention.samples));
  }
  options.rerun_share = flags.rerun_share;
  if (!(options.rerun_share >= 0 && options.rerun_share <= kMostRerunShare)) {
    return InvalidArgument("--rerun-share: must be from 0 to 0.5");
  }
  ASSAY_RETURN_IF_ERROR(
      Store("--rerun-spacing", ParseDuration(flags.rerun_spacing), options.rerun_spacing));
  ASSAY_RETURN_IF_ERROR(
      Store("--judge-every", ParseDuration(flags.judge_every), options.judge_period));
  if (options.judge_period < kMinHeartbeat) {
    return InvalidArgument("--judge-every: " + flags.judge_every + " is less than 100ms");
  }
  // The connection string has no flag, because `ps` shows flags and the string may hold a password.
  const char* const database = std::getenv("ASSAY_DATABASE");
  if (database == nullptr || *database == '\0') {
    return InvalidArgument(
        "no database: set the environment variable ASSAY_DATABASE to a connection string of "
        "libpq, for example \"host=/run/postgresql dbname=assay\"");
  }
  options.database = database;
  if (options.agent_tls.empty()) options.agent_tls = options.tls;
  return Status::Ok();
}

}  // namespace

std::string AdvertisedAddress(const std::optional<HostPort>& given, const HostPort& listens) {
  if (given) return given->ToString();
  return listens.host == "0.0.0.0" || listens.host == "::" ? "" : listens.ToString();
}

std::optional<CoordinatorOptions> ParseOptions(int argc, char** argv, int& exit_status) {
  CoordinatorOptions options;
  Flags flags;
  CLI::App app("Schedules Assay's campaigns on the connected agents.", "assay-coordinator");
  AddOptions(app, flags, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_status = app.exit(error) == 0 ? 0 : kUsageError;
    return std::nullopt;
  }
  Status usable = CheckFlags(flags, options);
  if (usable.ok() && app.got_subcommand("invite")) usable = CheckInviteFlags(flags, options);
  if (usable.ok()) {
    usable = InitLog("assay-coordinator", options.log_level).WithContext("--log-level");
  }
  if (usable.ok()) return options;
  std::cerr << "assay-coordinator: " << usable.message() << "\n";
  if (!usable.hint().empty()) std::cerr << "hint: " << usable.hint() << "\n";
  exit_status = kUsageError;
  return std::nullopt;
}

}  // namespace assay::coordinator
