// Notices when a rank of the gang dies or freezes, whatever this one is doing: the thread
// that runs the case may be waiting for a GPU that waits for the lost one.
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

// How often ranks say that they live, and how long one may be silent. Counted in this rank's
// own beats, so that the time for which it was stopped itself, or its host asleep, counts for
// one of them.
struct HeartbeatRule {
  Duration interval = std::chrono::seconds(1);
  // Longer than a busy host leaves a thread without a processor, or than it takes to page one
  // in again; shorter than anyone waits for a measurement that will not come.
  int patience = 15;
  // The same for a rank's first beat.
  int first_patience = patience;
  // For a host of which nothing comes at all, no acknowledgement of beats either. Shorter, so
  // that whoever is silent for `patience` has a host that answers.
  Duration host_patience = std::chrono::seconds(11);
};

// Watches the connections for heartbeats, and sends them, from a thread of its own until it is
// destroyed. A host that stops answering is noticed after about ten seconds, by the connection's
// end or before, a process that is stopped while its kernel answers by its silence.
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

  // Whether a connection that ends is a loss, as it is while ranks wait for each other by other
  // means than messages. False at first. While ranks only exchange messages they notice an end
  // by those, and may leave before the others have read their last.
  void ReportEnds(bool report) { report_ends_ = report; }

 private:
  struct Watched {
    int rank;
    int fd;
    int patience;
    int silent = 0;  // Beats of this rank since the other's last.
    bool ended = false;
  };

  void Watch();
  // Sends a beat to every rank and counts it.
  void Beat();
  // Takes what has come.
  void Listen();
  Status LossOf(const Watched& one) const;
  Status LostHost(const Watched& one) const;

  const HeartbeatRule rule_;
  const OnLost on_lost_;
  std::vector<Watched> watched_;  // The thread's alone once it runs.
  std::atomic<bool> report_ends_{false};
  std::atomic<bool> stopping_{false};
  int stop_[2] = {-1, -1};  // A pipe: its end wakes the thread.
  std::thread thread_;
};

}  // namespace assay
