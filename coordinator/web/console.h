// Serves the console: its pages, and the calls that they make.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <vector>

#include "common/host_port.h"
#include "common/status.h"

namespace assay::coordinator::web {

struct ConsoleOptions {
  HostPort address;  // Port 0 selects a free port.
  // Names by which browsers may address the console, in addition to "localhost" and IP addresses.
  // Requests for any other name are rejected. This protects against DNS rebinding, in which a
  // malicious site makes its own name resolve to this host, so that its pages can read the console.
  std::vector<std::string> hosts;
  // Paths of PEM files. Set both or neither.
  std::string tls_certificate;
  std::string tls_key;
  // The secret that a browser must present once. Empty: no secret is needed.
  std::string token;
  std::string version;
  // A channel to the coordinator's gRPC server in this process.
  std::shared_ptr<grpc::Channel> services;
};

// Checks that the console may be served with these options. Unless the console listens on a
// loopback address, it needs TLS and a token. The error says what is missing.
Status CheckConsole(const ConsoleOptions& options);

// The web server of the console. It serves until it is destroyed. Thread-safe.
class Console {
 public:
  // Starts to serve. The error names the address or the file, and the reason.
  static Result<std::unique_ptr<Console>> Start(ConsoleOptions options);
  ~Console();

  // Returns the URL with the actual port: "http://127.0.0.1:7980/".
  std::string url() const;

 private:
  class Impl;
  explicit Console(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace assay::coordinator::web
