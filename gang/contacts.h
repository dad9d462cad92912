// Which hosts of other ranks answer, as far as this rank can tell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "gang/peers.h"

namespace assay {

// Ranks grouped by whether their hosts answer. Rank 0 is connected to all ranks and lists all of
// them; every other rank lists only rank 0. A rank whose host last answered between the two time
// limits below is not listed, because it is unclear whether that host or this process was slow.
struct Contacts {
  std::vector<int> heard;   // Answered within kHeardWithin.
  std::vector<int> silent;  // Has not answered for kSilentAfter.
  std::vector<int> absent;  // Never connected, or was never reached.
};

// A running host acknowledges one heartbeat per second, even if its ranks are busy or frozen.
inline constexpr Duration kHeardWithin = std::chrono::seconds(3);
inline constexpr Duration kSilentAfter = std::chrono::seconds(6);

// Returns the time since anything last arrived from the other host on this TCP connection,
// including acknowledgements by its kernel. Also works after the connection has ended, as long as
// its descriptor is open. Returns nullopt if the kernel does not report this time.
std::optional<Duration> SilenceOf(int fd);

// The error for a rank whose host has not answered for `silence`.
Status PeerUnreachable(int rank, Duration silence);

// The error for a rank that has sent nothing for `silence` while its host answers.
Status PeerFrozen(int rank, Duration silence);

// Returns which ranks' hosts answer and which are silent. Does not fill in `absent`. `heartbeats`
// must be the open connections from Peers::Heartbeats(), with a PeerWatch at both ends.
// Thread-safe.
Contacts ContactsOf(const std::vector<PeerConnection>& heartbeats);

}  // namespace assay
