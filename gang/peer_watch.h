// Detects that another rank of the gang has died or is frozen. Runs on a separate thread, because
// the thread that runs the benchmark may be waiting for a GPU that waits for the lost rank.
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

// The interval of heartbeats and the limits for silence. Silence is counted in beats that this rank
// sends. If this process or its host was suspended, that time therefore counts as one beat only.
struct HeartbeatRule {
  Duration interval = std::chrono::seconds(1);
  // Number of beats without an answer after which a rank counts as frozen. Longer than a busy host
  // may delay a thread, and shorter than the timeout of any measurement.
  int patience = 15;
  // The same for the time before a rank's first beat.
  int first_patience = patience;
  // Time limit for a host that sends nothing at all, not even TCP acknowledgements. Shorter than
  // `patience` beats, so that a rank that exceeds `patience` has a host that answers.
  Duration host_patience = std::chrono::seconds(11);
};

// Exchanges heartbeats with other ranks on its own thread until it is destroyed. It notices a host
// that stops answering after about ten seconds. It notices a suspended process on a host that still
// answers because its beats are missing.
class PeerWatch {
 public:
  // Called once, on the watching thread, when a rank is lost; the error's peer is that rank. The
  // reason is PEER_FROZEN if the rank is silent, PEER_UNREACHABLE if its host is silent, and
  // PEER_LOST if its connection ended. The callback may end the process.
  using OnLost = std::function<void(const Status& lost)>;

  // `connections` are those of Peers::Heartbeats and stay open until this is destroyed.
  PeerWatch(const std::vector<PeerConnection>& connections, OnLost on_lost,
            const HeartbeatRule& rule = {});
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  // Sets whether the end of a connection is reported as a loss; false at first. Use true while
  // ranks wait for each other by other means than messages, such as NCCL. While they only exchange
  // messages, use false: a failed message shows the end, and a rank may leave as soon as it has
  // sent its last one.
  void ReportEnds(bool report) { report_ends_ = report; }

 private:
  struct Watched {
    int rank;
    int fd;
    int patience;
    int silent = 0;  // Beats sent since the other rank's last beat.
    bool ended = false;
  };

  void Watch();
  // Sends a beat to every rank and counts it.
  void Beat();
  // Receives the beats that have arrived.
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
