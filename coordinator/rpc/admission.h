// Limits how many calls each peer may have in progress, so that no peer can block the calls of
// others.
#pragma once

#include <grpcpp/server_context.h>

#include <map>
#include <memory>
#include <string>

#include "common/mutex.h"
#include "common/status.h"

namespace assay::coordinator::rpc {

// Name of the gRPC metadata in which the web console states which browser a call is for. The value
// has the form "SECRET ADDRESS".
inline constexpr char kViewer[] = "x-assay-viewer";

// Returns the value of kViewer for a browser at this IP address. It contains a secret known only to
// this process, so that no other caller can pretend to act for a browser.
std::string ViewerMark(const std::string& address);

// Returns the key under which a caller's calls are counted: the identity in its certificate or,
// without a certificate, its network address.
std::string PeerKey(const grpc::CallbackServerContext& context);

// A counter of the calls of one kind that are in progress. Thread-safe. Must outlive every place.
class Admission {
 public:
  // `what` names the kind in errors: "calls", "watches".
  Admission(std::string what, int per_peer, int total)
      : what_(std::move(what)), per_peer_(per_peer), total_(total) {}

  // The place of a call in progress. It is taken until its last copy is destroyed.
  using Place = std::shared_ptr<void>;

  // Takes a place. Returns RESOURCE_EXHAUSTED if `peer`, or all peers together, have too many.
  Result<Place> Enter(const std::string& peer);

 private:
  void Leave(const std::string& peer);

  const std::string what_;
  const int per_peer_;
  const int total_;
  Mutex mutex_;
  int in_progress_ ASSAY_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int> by_peer_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::coordinator::rpc
