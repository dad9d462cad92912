// Which hosts of other ranks answer, as far as this rank can tell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "gang/peers.h"

namespace assay {

// Ranks grouped by whether their hosts answer. Rank 0 has connections to all others and lists them;
// every other rank lists only rank 0. A rank whose last answer came between the two limits is in no
// list, because its host may have fallen silent or this rank may have been slow.
struct Contacts {
  std::vector<int> heard;   // Answered within kHeardWithin.
  std::vector<int> silent;  // Has not answered for kSilentAfter.
  std::vector<int> absent;  // Never connected, or was never reached.
};

// A running host acknowledges a heartbeat, one per second, whatever its ranks do.
inline constexpr Duration kHeardWithin = std::chrono::seconds(3);
inline constexpr Duration kSilentAfter = std::chrono::seconds(6);

// Returns how long nothing has arrived from the other host on this TCP connection, not even an
// acknowledgement by its kernel. Also works after the connection has ended, until its descriptor is
// closed. Returns nullopt if the kernel does not report the time.
std::optional<Duration> SilenceOf(int fd);

// The error for a rank whose host has not answered for `silence`.
Status PeerUnreachable(int rank, Duration silence);

// The error for a rank that has sent nothing for `silence` while its host answers.
Status PeerFrozen(int rank, Duration silence);

// Returns the ranks whose hosts answer and those whose hosts are silent; does not fill in `absent`.
// `heartbeats` are the connections of Peers::Heartbeats, with a PeerWatch at both ends. Any thread
// may call this while they are open.
Contacts ContactsOf(const std::vector<PeerConnection>& heartbeats);

}  // namespace assay
