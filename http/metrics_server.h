// The HTTP side of a service: /metrics for Prometheus, /healthz for load balancers and systemd, and
// further pages of the service.
#pragma once

#include <prometheus/collectable.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/host_port.h"
#include "common/status.h"

namespace assay::http {

// Answers GET requests for one path. `body` runs on a thread of the server, possibly two at once;
// an exception that leaves it becomes status 500.
struct GetHandler {
  std::string path;  // Starts with "/"; matches exactly this path.
  std::string content_type;
  std::function<std::string()> body;
};

struct MetricsServerOptions {
  // Port 0 selects a free one. The host is "localhost" or an IP address. IPv6 needs a civetweb
  // built for it, which Debian 12's is not.
  HostPort address;
  // Collected at every scrape, in this order; each must allow calls from two threads at once. The
  // server keeps them alive.
  std::vector<std::shared_ptr<prometheus::Collectable>> collectables;
  std::vector<GetHandler> handlers;
  // Decides the answer of /healthz: 200 "ok", or 503 with the error's text. Absent: always ok.
  std::function<Status()> health;
};

// Serves until destroyed, on two worker threads and one that accepts. A slow peer is disconnected
// after five seconds. Methods are thread-safe.
class MetricsServer {
 public:
  // Starts serving. The error names the address and the reason: port in use, unknown address, no
  // permission, or a name instead of an address.
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
