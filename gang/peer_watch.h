// Detects when another rank of a gang (processes that run a collective together) has died or
// frozen. This requires a separate thread, because the benchmark's own thread may be waiting for a
// GPU that is itself waiting for the lost rank.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "gang/peers.h"

namespace assay {

// The interval between the heartbeats that ranks send each other, and the limits for missing ones.
// `patience` counts heartbeats sent by this rank rather than seconds, so that a suspension of this
// process, however long, counts as a single heartbeat.
struct HeartbeatRule {
  Duration interval = std::chrono::seconds(1);
  // The number of unanswered heartbeats after which a rank is considered frozen. Even on a busy
  // host, no thread is delayed for that long, and every measurement has a longer timeout.
  int patience = 15;
  // The same limit for a rank that has not sent its first heartbeat yet.
  int first_patience = patience;
  // Time limit for a host that sends nothing, not even TCP acknowledgments. It is shorter than
  // `patience` heartbeats, so that a silent host is noticed first. If a rank reaches `patience`,
  // only its process is frozen, while its host still answers.
  Duration host_patience = std::chrono::seconds(11);
};

// A thread that exchanges heartbeats with other ranks for the lifetime of this object. It takes
// about ten seconds to notice that a host has stopped answering. If a host answers but its rank
// sends no heartbeats, that rank's process is considered frozen.
class PeerWatch {
 public:
  // The callback for the loss of a rank, whose number is in Status::peer. It is called at most
  // once, on the watching thread, and may end the process. The status's reason is one of these:
  //   - PEER_FROZEN: the rank is silent, but its host answers.
  //   - PEER_UNREACHABLE: the host is also silent.
  //   - PEER_LOST: the connection has closed.
  using OnLost = std::function<void(const Status& lost)>;

  // `connections` must come from Peers::Heartbeats() and stay open until this object is destroyed.
  PeerWatch(const std::vector<PeerConnection>& connections, OnLost on_lost,
            const HeartbeatRule& rule = {});
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  // Sets whether a closed connection is reported as the loss of a rank. Use true while ranks wait
  // for each other without exchanging messages, as in NCCL. Use false, the default, while they
  // exchange messages: a rank may exit normally after its last message, and if a rank is lost
  // earlier, the exchange fails anyway.
  void ReportEnds(bool report) { report_ends_ = report; }

 private:
  struct Watched {
    int rank;
    const Socket* socket;
    int patience;
    int silent = 0;  // Heartbeats sent since the other rank's last one.
    bool ended = false;
  };

  void Watch();
  // Sends a heartbeat to every rank and counts it.
  void Beat();
  // Receives the heartbeats that have arrived.
  void Listen();
  Status LossOf(const Watched& one) const;
  Status LostHost(const Watched& one) const;

  const HeartbeatRule rule_;
  const OnLost on_lost_;
  std::vector<Watched> watched_;  // Used only by the thread while it runs.
  std::atomic<bool> report_ends_{false};
  std::atomic<bool> stopping_{false};
  int stop_[2] = {-1, -1};  // A pipe; closing it wakes the thread.
  std::thread thread_;
};

}  // namespace assay
