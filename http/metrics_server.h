// An HTTP server that exposes the status of a service. It serves /metrics for Prometheus, /healthz
// and /readyz for load balancers and systemd, and any pages that the service adds.
#pragma once

#include <prometheus/collectable.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/host_port.h"
#include "common/status.h"
#include "http/server.h"

namespace assay::http {

// Responds with status 200.
void RespondWith(Exchange& exchange, const char* content_type, std::string body);

// Sends a response in parts. Each call to `next` returns the next part, or an empty string at the
// end. Does not call `next` until the previous part has been handed to the network, so that only
// one part is in memory at a time. May call `next` on a server thread.
void RespondInParts(const std::shared_ptr<Exchange>& exchange, const char* content_type,
                    std::function<std::string()> next);

// A handler of GET requests for one path. `answer` is called on the server's threads, possibly on
// two at once, and may respond later from any thread. If it throws an exception, the server
// responds with status 500.
struct GetHandler {
  std::string path;  // Starts with "/"; matches exactly this path.
  std::function<void(std::shared_ptr<Exchange>)> answer;
};

struct MetricsServerOptions {
  // The address to listen on. Port 0 selects a free port.
  HostPort address;
  // The sources of the metrics for /metrics. Every request collects from all of them, in this
  // order. The server shares ownership of the sources and may read the same one from two threads at
  // once.
  std::vector<std::shared_ptr<prometheus::Collectable>> collectables;
  std::vector<GetHandler> handlers;
  // The functions behind /healthz (`health`) and /readyz (`ready`). If the function is not set or
  // returns OK, the response is 200 "ok", otherwise 503 with the text of the error. Each function
  // may block for up to a second.
  std::function<Status()> health;
  std::function<Status()> ready;
};

// An HTTP server that runs until destroyed, serving many connections with two threads. Clients have
// five seconds to send the head of a request and another five to read the response. Thread-safe.
class MetricsServer {
 public:
  // Starts a server. The error names the address and the reason.
  static Result<std::unique_ptr<MetricsServer>> Start(MetricsServerOptions options);

  // Returns the listening address with the actual port.
  const HostPort& address() const { return server_->address(); }

 private:
  MetricsServer() = default;

  std::unique_ptr<Server> server_;
};

}  // namespace assay::http
