#include "gang/peer_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>

#include "gang/contacts.h"
#include "gang/socket.h"

namespace assay {
namespace {

constexpr Duration kAfterError = std::chrono::milliseconds(100);
constexpr int kMostBeats = 256;  // Heartbeats of one rank that are read at once.

}  // namespace

PeerWatch::PeerWatch(const std::vector<PeerConnection>& connections, OnLost on_lost,
                     const HeartbeatRule& rule)
    : rule_(rule), on_lost_(std::move(on_lost)) {
  for (const PeerConnection& one : connections) {
    watched_.push_back({one.rank, one.socket, rule.first_patience});
  }
  if (watched_.empty()) return;
  // The pipe wakes the thread when it must stop. If pipe2() fails, start the thread anyway, because
  // the other ranks need this rank's heartbeats. It then stops only at its next heartbeat.
  if (pipe2(stop_, O_CLOEXEC) != 0) stop_[0] = stop_[1] = -1;
  thread_ = std::thread([this] { Watch(); });
}

PeerWatch::~PeerWatch() {
  stopping_ = true;
  if (stop_[1] >= 0) close(stop_[1]);
  if (thread_.joinable()) thread_.join();
  if (stop_[0] >= 0) close(stop_[0]);
}

void PeerWatch::Watch() {
  MonotonicTime next_beat = Clock::Real().Now();
  std::vector<pollfd> entries;
  for (;;) {
    entries.assign(1, {stop_[0], POLLIN, 0});
    // Let poll() wait for connections to close, but not for data. Heartbeats from other ranks are
    // read when this rank sends its own, so that the thread wakes up only once per interval.
    for (const Watched& one : watched_) {
      entries.push_back({one.ended ? -1 : one.socket->fd(), POLLRDHUP, 0});
    }
    if (poll(entries.data(), entries.size(), PollMillis(next_beat)) < 0 && errno != EINTR) {
      // Continue after an error of poll(), for example a lack of memory.
      std::this_thread::sleep_for(std::min<Duration>(rule_.interval, kAfterError));
    }
    if (stopping_) return;
    for (size_t i = 0; i < watched_.size(); ++i) {
      watched_[i].ended = watched_[i].ended || entries[i + 1].revents != 0;
    }
    if (const MonotonicTime now = Clock::Real().Now(); now >= next_beat) {
      next_beat = now + rule_.interval;
      Beat();
      // Read any heartbeats that have arrived before reporting a rank as lost. If this process was
      // suspended, the other ranks' heartbeats are still unread.
      Listen();
    }
    for (const Watched& one : watched_) {
      if (const Status lost = LossOf(one); !lost.ok()) return on_lost_(lost);
    }
  }
}

void PeerWatch::Beat() {
  for (Watched& one : watched_) {
    if (one.ended) continue;
    // Ignore errors. If the send buffer is full, the other rank already has plenty of unread
    // heartbeats. If the connection has closed, poll() reports it.
    const char beat = 'b';
    static_cast<void>(SendSome(*one.socket, &beat, 1));
    ++one.silent;
  }
}

void PeerWatch::Listen() {
  for (Watched& one : watched_) {
    // Each call of ReceiveSome() returns at most one heartbeat. kMostBeats is several minutes'
    // worth of heartbeats. Any beyond that are read after this rank's next heartbeat.
    for (int beats = 0; !one.ended && beats < kMostBeats; ++beats) {
      char beat = 0;
      const auto got = ReceiveSome(*one.socket, &beat, 1);
      one.ended = !got.ok();
      if (!got.ok() || *got == 0) break;
      one.silent = 0;
      one.patience = rule_.patience;
    }
  }
}

Status PeerWatch::LossOf(const Watched& one) const {
  ASSAY_RETURN_IF_ERROR(LostHost(one));
  if (one.ended && report_ends_) {
    return PeerLost("the connection to rank " + std::to_string(one.rank) +
                    " ended while the gang ran")
        .WithPeer({one.rank});
  }
  const bool stopped = !one.ended && one.silent >= one.patience;
  return stopped ? PeerFrozen(one.rank, one.patience * rule_.interval) : Status::Ok();
}

// Returns PEER_UNREACHABLE if the other rank's host is silent. If a network link is cut, the ranks
// at both ends report each other, and the coordinator (Assay's server) decides which of the two
// nodes is to blame.
Status PeerWatch::LostHost(const Watched& one) const {
  const std::optional<Duration> silence = SilenceOf(one.socket->fd());
  if (!silence) return Status::Ok();
  // A single unanswered heartbeat does not prove that the other host is silent, because this
  // process or its own host may have just been suspended.
  const bool lost = one.ended ? report_ends_ && *silence >= kSilentAfter
                              : one.silent > 1 && *silence >= rule_.host_patience;
  return lost ? PeerUnreachable(one.rank, *silence) : Status::Ok();
}

}  // namespace assay
