// Exposes the coordinator's gRPC services through the Connect protocol, which is JSON over
// HTTP/1.1. Browsers, curl and any other HTTP client can use it. See docs/reference/api.md.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string_view>

#include "http/server.h"

namespace assay::coordinator::web {

inline constexpr char kJson[] = "application/json";  // As Content-Type.

// Serves the read-only methods that viewers may call, which are declared with idempotency_level =
// NO_SIDE_EFFECTS. Calls are subject to the same limits and metrics as those of gRPC clients.
// Thread-safe.
class Bridge {
 public:
  // The largest request, in bytes, and its deepest nesting of objects and lists.
  static constexpr size_t kMaxRequestBytes = 256 * 1024;
  static constexpr int kMaxDepth = 32;
  // Maximum number of streams open at once. A client that requests another stream receives status
  // 503 and falls back to polling.
  static constexpr int kMaxStreams = 256;
  // Maximum number of calls and streams at once. Further calls are answered with 503.
  static constexpr int kMaxCalls = kMaxStreams + 128;

  // `services` is a channel to the coordinator's gRPC server in this process.
  explicit Bridge(const std::shared_ptr<grpc::Channel>& services);
  // Waits for calls in progress. The exchanges must have ended.
  ~Bridge();

  // Returns true for the path of a method: "/assay.v1.NodeService/ListNodes".
  static bool IsMethod(std::string_view path);
  // Answers a request whose path is that of a method.
  void Answer(const std::shared_ptr<http::Exchange>& exchange);

 private:
  class UnaryCall;
  class StreamCall;
  class Counted;
  struct Shared;

  const std::unique_ptr<Shared> shared_;
};

}  // namespace assay::coordinator::web
