#include "coordinator/options.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "common/host_port.h"
#include "common/units.h"

namespace assay::coordinator {
namespace {

constexpr int kUsageError = 2;
constexpr Duration kMinHeartbeat = std::chrono::milliseconds(100);
constexpr Duration kMaxLease = std::chrono::hours(1);

// Flags as parsed, before they are checked.
struct Flags {
  std::string listen = "127.0.0.1:7900";
  std::string http = "127.0.0.1:9900";
  std::string lease = "30s";
  std::string heartbeat = "5s";
};

void AddOptions(CLI::App& app, Flags& flags, CoordinatorOptions& options) {
  app.set_version_flag("--version", std::string("assay-coordinator ") + ASSAY_VERSION);
  app.add_option("--listen", flags.listen, "HOST:PORT for gRPC; port 0 takes a free one")
      ->capture_default_str();
  app.add_option("--http", flags.http,
                 "HOST:PORT for /metrics, /healthz and /sd; \"\" for none, port 0 for any")
      ->capture_default_str();
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
  app.add_option("--lease", flags.lease, "How long a job is held without word of its agent")
      ->capture_default_str();
  app.add_option("--heartbeat", flags.heartbeat, "How often agents report")->capture_default_str();
  app.add_option("--log-level", options.log_level, "debug, info, warn or error")
      ->capture_default_str();
  app.add_option("--ready-fd", options.ready_fd,
                 "Write the addresses, as one line of JSON, to this descriptor when serving");
  app.footer(
      "ASSAY_DATABASE must hold the connection string of PostgreSQL: key=value pairs or a URL, as "
      "libpq takes them.\n\nExit status: 0 ended by SIGTERM or SIGINT; 1 cannot start, as without "
      "its database; 2 a "
      "flag, an address or a TLS file is wrong.");
}

Status Judge(const Flags& flags, CoordinatorOptions& options) {
  const auto in = [](const char* flag, const Status& status) { return status.WithContext(flag); };
  const Result<HostPort> listen = ParseHostPort(flags.listen);
  if (!listen.ok()) return in("--listen", listen.status());
  options.listen = *listen;
  if (!flags.http.empty()) {
    const Result<HostPort> http = ParseHostPort(flags.http);
    if (!http.ok()) return in("--http", http.status());
    options.http = *http;
  }
  const Result<Duration> lease = ParseDuration(flags.lease);
  if (!lease.ok()) return in("--lease", lease.status());
  const Result<Duration> heartbeat = ParseDuration(flags.heartbeat);
  if (!heartbeat.ok()) return in("--heartbeat", heartbeat.status());
  if (*heartbeat < kMinHeartbeat) {
    return InvalidArgument("--heartbeat: " + flags.heartbeat + " is less than 100ms");
  }
  if (*lease < 2 * *heartbeat || *lease > kMaxLease) {
    return InvalidArgument("--lease: " + flags.lease + " is not between two heartbeats (" +
                           flags.heartbeat + " each) and 1h");
  }
  options.lease = *lease;
  options.heartbeat = *heartbeat;
  // No flag, because `ps` shows flags, and a connection string may hold a password.
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

ParsedOptions ParseOptions(int argc, char** argv) {
  CoordinatorOptions options;
  options.log_level = "info";
  Flags flags;
  CLI::App app("Schedules Assay's campaigns on the agents in session.", "assay-coordinator");
  AddOptions(app, flags, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return {std::nullopt, app.exit(error) == 0 ? 0 : kUsageError};
  }
  if (const Status judged = Judge(flags, options); !judged.ok()) {
    std::cerr << "assay-coordinator: " << judged.message() << "\n";
    return {std::nullopt, kUsageError};
  }
  return {std::move(options), 0};
}

}  // namespace assay::coordinator
