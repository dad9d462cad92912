// Finds out which hosts of other ranks answer, as seen from this rank.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "gang/peers.h"

namespace assay {

// The ranks that this rank is connected to, grouped by whether their hosts answer. Rank 0 is
// connected to all other ranks; every other rank is connected only to rank 0. A rank whose host
// last answered between the two time limits below is in no group, because either that host or this
// process may have been slow.
struct Contacts {
  std::vector<int> heard;   // Answered within kHeardWithin.
  std::vector<int> silent;  // Has not answered for kSilentAfter.
  std::vector<int> absent;  // Never connected, or was never reached.
};

// PeerWatch sends a heartbeat every second. The kernel of a running host acknowledges each of them,
// even if the host's ranks are busy or frozen.
inline constexpr Duration kHeardWithin = std::chrono::seconds(3);
inline constexpr Duration kSilentAfter = std::chrono::seconds(6);

// Returns the time since the other host last sent anything on this TCP connection, even a mere
// acknowledgement by its kernel. Works even after the connection has ended, as long as `fd` is
// open. Returns nullopt if this host's kernel does not report the time.
std::optional<Duration> SilenceOf(int fd);

// Returns the error for a rank whose host has not answered for `silence`.
Status PeerUnreachable(int rank, Duration silence);

// Returns the error for a rank that has sent nothing for `silence` although its host answers.
Status PeerFrozen(int rank, Duration silence);

// Returns which ranks' hosts answer and which are silent. Leaves `absent` empty. `heartbeats` must
// be the open connections from Peers::Heartbeats(), on which a PeerWatch at each end sends
// heartbeats. Thread-safe.
Contacts ContactsOf(const std::vector<PeerConnection>& heartbeats);

}  // namespace assay
