// Which other ranks' hosts answer, as far as this one can tell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "gang/peers.h"

namespace assay {

// Rank 0 hears all others, they hear rank 0 alone. A host that answered lately is in no
// list: between the two it may have fallen silent, or this rank been slow to say something.
struct Contacts {
  std::vector<int> heard;   // Something came within kHeardWithin.
  std::vector<int> silent;  // Nothing has come for kSilentAfter.
  std::vector<int> absent;  // The rank never came, or was never reached.
};

// A living host answers a heartbeat, of which there is one a second, whatever its ranks do.
inline constexpr Duration kHeardWithin = std::chrono::seconds(3);
inline constexpr Duration kSilentAfter = std::chrono::seconds(6);

// For how long nothing has come from the other host on this TCP connection, acknowledgements
// of its kernel included; of one that has ended until it is closed here. nullopt if the kernel
// does not tell.
std::optional<Duration> SilenceOf(int fd);

// The error for a rank whose host has not answered for `silence`.
Status PeerUnreachable(int rank, Duration silence);

// The error for a rank that has sent nothing for `silence` while its host answers.
Status PeerFrozen(int rank, Duration silence);

// All but `absent`, by the connections of Peers::Heartbeats, on which PeerWatches speak at both
// ends. Any thread may ask, as long as they are open.
Contacts ContactsOf(const std::vector<PeerConnection>& heartbeats);

}  // namespace assay
