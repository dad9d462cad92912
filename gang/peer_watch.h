// Notices when another rank dies or freezes, whatever this rank does: the thread that runs the case
// may be waiting for a GPU that waits for the lost rank.
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

// The interval of heartbeats and the limits of silence. Silence is counted in this rank's own
// beats, so that a time in which this process or its host was suspended counts as one beat.
struct HeartbeatRule {
  Duration interval = std::chrono::seconds(1);
  // Longer than a busy host may keep a thread from running or page it in; shorter than the timeout
  // of any measurement.
  int patience = 15;
  // The limit for a rank's first beat.
  int first_patience = patience;
  // The limit for a host that sends nothing at all, not even acknowledgements. It is shorter, so a
  // rank that is silent for `patience` has a host that answers.
  Duration host_patience = std::chrono::seconds(11);
};

// Sends and receives heartbeats on a thread of its own until it is destroyed. A host that stops
// answering is noticed after about ten seconds. A suspended process whose kernel still answers is
// noticed by its missing beats.
class PeerWatch {
 public:
  // Called once, on the watching thread, with the first rank that is lost as the error's peer:
  // PEER_FROZEN if it is silent, PEER_UNREACHABLE if its host is, PEER_LOST if its connection
  // ended. May end the process.
  using OnLost = std::function<void(const Status& lost)>;

  // `connections` are those of Peers::Heartbeats and stay open until this is destroyed.
  PeerWatch(const std::vector<PeerConnection>& connections, OnLost on_lost,
            const HeartbeatRule& rule = {});
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  // Sets whether the end of a connection is a loss; false at first. It is a loss while ranks wait
  // for each other by other means than messages. While they only exchange messages, the messages
  // show the end, and a rank may leave before the others have read its last one.
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
