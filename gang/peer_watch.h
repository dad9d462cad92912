// Detects on a separate thread that another rank of a gang has died or is frozen. The benchmark's
// own thread cannot do this, because it may be waiting for a GPU that in turn waits for that rank.
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

// The interval between heartbeats and the limits for missing ones. `patience` counts heartbeats
// that this rank has sent rather than seconds, so that a suspension of this process, however long,
// counts as a single heartbeat.
struct HeartbeatRule {
  Duration interval = std::chrono::seconds(1);
  // A rank counts as frozen after this many heartbeats without an answer. The limit is longer than
  // a busy host may delay a thread, and shorter than the timeout of any measurement.
  int patience = 15;
  // The same limit for a rank that has not sent its first heartbeat yet.
  int first_patience = patience;
  // Time limit for a host that sends nothing at all, not even TCP acknowledgements. This limit is
  // shorter than `patience` heartbeats. If a rank reaches `patience`, its host must therefore still
  // be answering, and only the process is frozen.
  Duration host_patience = std::chrono::seconds(11);
};

// Exchanges heartbeats with other ranks, on its own thread, until this object is destroyed. Notices
// after about ten seconds that a host has stopped answering. If a host answers but its rank sends
// no heartbeats, that rank's process counts as frozen.
class PeerWatch {
 public:
  // Called once, on the watching thread, when a rank is lost. Status::peer is that rank. The
  // status's reason is PEER_FROZEN if only the rank is silent, PEER_UNREACHABLE if its host is
  // silent too, and PEER_LOST if the connection has ended. The callback may end the process.
  using OnLost = std::function<void(const Status& lost)>;

  // `connections` must come from Peers::Heartbeats() and stay open until this object is destroyed.
  PeerWatch(const std::vector<PeerConnection>& connections, OnLost on_lost,
            const HeartbeatRule& rule = {});
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  // Sets whether the end of a connection is reported as the loss of a rank. The default is false.
  // Use true while ranks wait for each other without exchanging messages, for example in NCCL.
  // Use false while ranks only exchange messages, because a rank may leave after its last message,
  // and the loss of a rank already shows up as a message that fails.
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
