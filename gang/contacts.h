// Finds out which hosts of other ranks answer, as seen from this rank.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "gang/peers.h"

namespace assay {

// The ranks (processes of one benchmark) connected to this rank, grouped by whether their hosts
// still answer. Rank 0 is connected to all others, and every other rank only to rank 0. A host that
// has been quiet for longer than kHeardWithin but less than kSilentAfter may just be slow, so its
// rank is not in any group.
struct Contacts {
  std::vector<int> heard;   // Answered within kHeardWithin.
  std::vector<int> silent;  // Has not answered for kSilentAfter.
  std::vector<int> absent;  // Never connected, or was never reached.
};

// Limits on the time since a host's last answer. Up to the first limit, the host is considered to
// be answering; from the second on, it is considered silent. The kernel of a running host
// acknowledges the heartbeat that PeerWatch sends every second, even if the processes on the host
// are busy or frozen.
inline constexpr Duration kHeardWithin = std::chrono::seconds(3);
inline constexpr Duration kSilentAfter = std::chrono::seconds(6);

// Returns the time since this TCP connection last received anything from the other host, including
// bare ACKs. Works as long as `fd` is open, even after the connection has closed. Returns nullopt
// if this host's kernel does not report the time.
std::optional<Duration> SilenceOf(int fd);

// Returns the error for a rank whose host has not answered for `silence`.
Status PeerUnreachable(int rank, Duration silence);

// Returns the error for a rank that has sent nothing for `silence` although its host answers.
Status PeerFrozen(int rank, Duration silence);

// Returns which of the connected ranks have hosts that answer and which have silent hosts. Leaves
// Contacts::absent empty. `heartbeats` must be the open connections from Peers::Heartbeats(), with
// a PeerWatch sending heartbeats at both ends of each. Thread-safe.
Contacts ContactsOf(const std::vector<PeerConnection>& heartbeats);

}  // namespace assay
