// Notices at once when a rank of the gang dies, whatever this one is doing: the thread
// that runs the case may be waiting for a GPU that waits for the dead one.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "common/status.h"
#include "kernels/peers.h"

namespace assay {

// Watches connections from a thread of its own until it is destroyed. A host that stops
// answering is noticed by the connection's keepalive, after about ten seconds.
class PeerWatch {
 public:
  // Called once, on the watching thread, with PEER_LOST naming the rank. May end the
  // process.
  using OnLost = std::function<void(const Status& lost)>;

  // `connections` stay open until it is destroyed.
  PeerWatch(std::vector<PeerConnection> connections, OnLost on_lost);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

 private:
  void Watch();

  const std::vector<PeerConnection> connections_;
  const OnLost on_lost_;
  int stop_[2] = {-1, -1};  // A pipe: its end is the sign to stop.
  std::thread thread_;
};

}  // namespace assay
