// The HTTP side of a service: /metrics for Prometheus, /healthz for load balancers
// and systemd, and whatever else the service wants to show with GET.
#pragma once

#include <prometheus/collectable.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/units.h"

namespace assay::http {

// Answers GET of one path. `body` runs on a thread of the server, possibly two at
// once; an exception that leaves it becomes status 500.
struct GetHandler {
  std::string path;  // Begins with "/"; matches exactly this path.
  std::string content_type;
  std::function<std::string()> body;
};

struct MetricsServerOptions {
  // Port 0 takes a free one. The host is "localhost" or an IP address, of IPv6 only where civetweb
  // is built for it, which Debian 12's is not.
  HostPort address;
  // Asked at every scrape, in this order; each must be safe to ask from two
  // threads at once. Kept alive by the server.
  std::vector<std::shared_ptr<prometheus::Collectable>> collectables;
  std::vector<GetHandler> handlers;
  // What /healthz says: 200 "ok", or 503 with the error's text. Absent: always ok.
  std::function<Status()> health;
};

// Serves until destroyed, on two worker threads and one that accepts. A peer that
// dawdles is cut off after five seconds. Methods are thread-safe.
class MetricsServer {
 public:
  // The error names the address and why it cannot be listened on: taken port, no
  // such address, no permission, a name.
  static Result<std::unique_ptr<MetricsServer>> Start(MetricsServerOptions options);

  // Waits for answers in progress.
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // Where it listens, with the real port.
  const HostPort& address() const { return address_; }

 private:
  class Impl;
  MetricsServer() = default;

  HostPort address_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::http
