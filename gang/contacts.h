// Which hosts of other ranks answer, as far as this rank can tell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "gang/peers.h"

namespace assay {

// The ranks by the state of their hosts. Rank 0 lists all others; the others list rank 0 alone. A
// rank in no list answered between the two limits ago: its host may have fallen silent, or this
// rank may have been slow.
struct Contacts {
  std::vector<int> heard;   // Answered within kHeardWithin.
  std::vector<int> silent;  // Has not answered for kSilentAfter.
  std::vector<int> absent;  // Never connected, or was never reached.
};

// A running host acknowledges a heartbeat, one per second, whatever its ranks do.
inline constexpr Duration kHeardWithin = std::chrono::seconds(3);
inline constexpr Duration kSilentAfter = std::chrono::seconds(6);

// Returns for how long the other host has sent nothing on this TCP connection, not even an
// acknowledgement of its kernel. Also works after the connection has ended, until it is closed
// here. Returns nullopt if the kernel does not report it.
std::optional<Duration> SilenceOf(int fd);

// The error for a rank whose host has not answered for `silence`.
Status PeerUnreachable(int rank, Duration silence);

// The error for a rank that has sent nothing for `silence` while its host answers.
Status PeerFrozen(int rank, Duration silence);

// Returns all lists but `absent`, from the connections of Peers::Heartbeats, on which both ends run
// a PeerWatch. Any thread may call it while they are open.
Contacts ContactsOf(const std::vector<PeerConnection>& heartbeats);

}  // namespace assay
