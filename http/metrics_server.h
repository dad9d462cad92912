// An HTTP server for the status of a service: /metrics for Prometheus, /healthz for load balancers
// and systemd, and pages that the service adds.
#pragma once

#include <prometheus/collectable.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/host_port.h"
#include "common/status.h"

namespace assay::http {

// A page: answers GET requests for one path. `body` runs on the server's threads, possibly on two
// at once. If it throws, the answer has status 500.
struct GetHandler {
  std::string path;  // Starts with "/"; matches exactly this path.
  std::string content_type;
  std::function<std::string()> body;
};

struct MetricsServerOptions {
  // The address to listen on. Port 0 selects a free port.
  HostPort address;
  // The sources of /metrics, read in this order at every request. The server shares ownership and
  // may call each from two threads at once.
  std::vector<std::shared_ptr<prometheus::Collectable>> collectables;
  std::vector<GetHandler> handlers;
  // Decide the answers of /healthz and /readyz: 200 "ok", or 503 with the error's text. Absent:
  // always ok. They may block for a second.
  std::function<Status()> health;
  std::function<Status()> ready;
};

// An HTTP server that runs until it is destroyed. Its two threads wait for many connections each. A
// client has five seconds to send its request's head, and five more to read the answer. Methods are
// thread-safe.
class MetricsServer {
 public:
  // Starts a server. The error names the address and the reason.
  static Result<std::unique_ptr<MetricsServer>> Start(MetricsServerOptions options);

  // Waits for running requests.
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // Returns the listening address with the actual port.
  const HostPort& address() const { return address_; }

 private:
  class Impl;
  MetricsServer() = default;

  HostPort address_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::http
