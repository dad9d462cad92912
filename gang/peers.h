// The control plane between the ranks of a gang: small messages over TCP, in a star around rank 0.
// Measured data never travels here.
//
// Rank 0 listens, and the agent passes its token to the others, which then connect. The token is
// HOST:PORT/NONCE; a connection that does not present the nonce is dropped. Each rank connects
// twice: once for messages, and once for the heartbeats that PeerWatch exchanges.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/status.h"

namespace assay {

// A connection to another rank.
struct PeerConnection {
  int rank = 0;
  int fd = -1;
};

// One rank's end. All ranks must call the same operations in the same order, each from one thread.
// Errors name the other rank (Status::peer): UNAVAILABLE (PEER_LOST) if its connection ended,
// DEADLINE_EXCEEDED (PEER_TIMEOUT) if it did not answer in time. If several are missing, the error
// names the lowest. After an error the gang is over.
class Peers {
 public:
  virtual ~Peers() = default;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // Returns the connections for a PeerWatch: to every rank at rank 0, to rank 0 elsewhere. Only a
  // PeerWatch sends on them. They stay open as long as this object lives.
  virtual std::vector<PeerConnection> Heartbeats() const = 0;

  // Returns when all ranks have called it.
  virtual Status Barrier(Duration timeout) = 0;
  // Copies rank 0's `bytes`, at most kMaxFrameBytes, to all other ranks.
  virtual Status Broadcast(std::string* bytes, Duration timeout) = 0;
  // Returns all ranks' bytes, by rank, at rank 0; nothing elsewhere.
  virtual Result<std::vector<std::string>> Gather(std::string_view bytes, Duration timeout) = 0;

  // Returns PEER_LOST if a connection of this rank has ended, without waiting. For use while
  // waiting for other ranks by other means. Rank 0 sees all ranks; the others see rank 0, which
  // leaves when it loses one. Any thread may call this at any time, unlike the other methods.
  virtual Status Check() const = 0;
};

// Returns all ranks' bytes, by rank, at every rank.
Result<std::vector<std::string>> AllGather(Peers& peers, std::string_view bytes, Duration timeout);

// Returns OK at every rank if `mine` is OK at every rank. Otherwise returns the error of the lowest
// failing rank at every rank, and names that rank (Status::rank). An error that was agreed before
// keeps its rank. PEER_LOST is returned only if no rank has another error, since another error
// causes it.
Status Agree(Peers& peers, const Status& mine, Duration timeout);

// The time that ranks wait for one another outside the timed window, where a slow rank may allocate
// or compute a reference. A PeerWatch notices a frozen rank sooner.
inline constexpr Duration kPeerTimeout = std::chrono::seconds(120);

// Rank 0's listening socket.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  // Returns the data that the other ranks need to connect. It contains a secret, so it must not be
  // logged.
  virtual const std::string& token() const = 0;
  // Waits for ranks 1 to world_size - 1 and drops strangers. Call once. `processes` may hold pidfds
  // of ranks on this machine: PEER_LOST as soon as one of them has ended.
  virtual Result<std::unique_ptr<Peers>> Accept(int world_size, const std::vector<int>& processes,
                                                Duration timeout) = 0;
  // Returns, after Accept failed, one connection to each rank that had connected: the one for
  // heartbeats, or else the one for messages. They stay open as long as this object lives.
  virtual std::vector<PeerConnection> Arrived() const = 0;
};

// Listens on a free port of `address` (numeric, or a name of this host).
Result<std::unique_ptr<Rendezvous>> ListenForPeers(const std::string& address);

// Connects rank `rank` (1 or above) to the rank 0 that made `token`; tries again
// until it answers or `timeout` has passed.
Result<std::unique_ptr<Peers>> JoinPeers(const std::string& token, int rank, int world_size,
                                         Duration timeout);

}  // namespace assay
