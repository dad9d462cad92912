// An HTTP server that reports the status of a service. It serves /metrics for Prometheus, /healthz
// and /readyz for load balancers and systemd, and pages that the service adds.
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

// Sends a response in parts. Each call of `next` returns the next part, or an empty string at the
// end. `next` is called only after the previous part has been handed to the network, so that only
// one part is in memory at a time. It may be called on a thread of the server.
void RespondInParts(const std::shared_ptr<Exchange>& exchange, const char* content_type,
                    std::function<std::string()> next);

// A handler of GET requests for one path. `answer` is called on the server's threads, possibly on
// two at once. It may respond later and from another thread. If it throws an exception, the
// response has status 500.
struct GetHandler {
  std::string path;  // Starts with "/"; matches exactly this path.
  std::function<void(std::shared_ptr<Exchange>)> answer;
};

struct MetricsServerOptions {
  // The address to listen on. Port 0 selects a free port.
  HostPort address;
  // The sources of the metrics that /metrics returns. Every request reads all of them in this
  // order. The server shares their ownership and may read a source from two threads at once.
  std::vector<std::shared_ptr<prometheus::Collectable>> collectables;
  std::vector<GetHandler> handlers;
  // The functions that answer requests to /healthz (`health`) and /readyz (`ready`). The response
  // is 200 "ok" if the function returns OK or is not set. Otherwise it is 503 with the error's
  // text. Each function may block for up to a second.
  std::function<Status()> health;
  std::function<Status()> ready;
};

// An HTTP server that runs until it is destroyed. It serves many connections with two threads. A
// client has five seconds to send the head of its request, and five more to read the response.
// Thread-safe.
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
