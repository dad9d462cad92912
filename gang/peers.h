// Connections for control messages between the ranks of a gang, the processes that run a collective
// together. They are TCP connections between rank 0 and every other rank. Benchmark data never uses
// them. Rank 0 listens and creates a token, HOST:PORT/NONCE, which agents forward to the other
// ranks. A connection that does not send the nonce is dropped. Each rank connects twice: for
// messages, and for the heartbeats of PeerWatch.
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

// One rank's connections to the other ranks. All ranks must call the same operations in the same
// order, each on one thread. Returns PEER_LOST if a connection ended, or PEER_TIMEOUT if a rank did
// not answer in time; Status::peer is that rank, or the lowest of several. After an error the gang
// cannot continue.
class Peers {
 public:
  virtual ~Peers() = default;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // Returns the connections to pass to a PeerWatch: on rank 0 to every other rank, elsewhere to
  // rank 0. Only a PeerWatch may send on them. They stay open until this object is destroyed.
  virtual std::vector<PeerConnection> Heartbeats() const = 0;

  // Returns when all ranks have called it.
  virtual Status Barrier(Duration timeout) = 0;
  // Copies rank 0's `bytes`, at most kMaxFrameBytes, to all other ranks.
  virtual Status Broadcast(std::string* bytes, Duration timeout) = 0;
  // Returns all ranks' bytes, by rank, at rank 0; nothing elsewhere.
  virtual Result<std::vector<std::string>> Gather(std::string_view bytes, Duration timeout) = 0;

  // Returns PEER_LOST if a connection of this rank has ended; does not wait. Use it while waiting
  // for other ranks by other means, such as NCCL. Only rank 0 has connections to all ranks. If it
  // loses one it leaves, and the others notice that. Unlike the other methods, any thread may call
  // it at any time.
  virtual Status Check() const = 0;
};

// Returns all ranks' bytes, by rank, at every rank.
Result<std::vector<std::string>> AllGather(Peers& peers, std::string_view bytes, Duration timeout);

// Returns OK on every rank if `mine` is OK on every rank. Otherwise returns the same error on every
// rank: that of the lowest failing rank, whose number it contains (Status::rank). PEER_LOST is
// returned only if no rank has another error, because it is usually a consequence. An error from an
// earlier Agree keeps its rank.
Status Agree(Peers& peers, const Status& mine, Duration timeout);

// Time limit for ranks to wait for each other outside the timed measurement. It is long because a
// slow rank may be allocating memory or computing a reference. A PeerWatch notices a frozen rank
// sooner.
inline constexpr Duration kPeerTimeout = std::chrono::seconds(120);

// Rank 0's listening socket.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  // Returns the text that the other ranks need to connect to rank 0. It contains a secret, so do
  // not log it.
  virtual const std::string& token() const = 0;
  // Waits until ranks 1 to world_size - 1 have connected, and drops all other connections. Call
  // once. `processes` may contain pidfds of ranks on this machine; if one of them ends, returns
  // PEER_LOST at once.
  virtual Result<std::unique_ptr<Peers>> Accept(int world_size, const std::vector<int>& processes,
                                                Duration timeout) = 0;
  // Call after Accept has failed. Returns one connection to each rank that had connected: the one
  // for heartbeats if it exists, otherwise the one for messages. They stay open until this object
  // is destroyed.
  virtual std::vector<PeerConnection> Arrived() const = 0;
};

// Listens on a free port of `address` (numeric, or a name of this host).
Result<std::unique_ptr<Rendezvous>> ListenForPeers(const std::string& address);

// Connects this process, as rank `rank` (at least 1), to the rank 0 that created `token`. Tries
// again until rank 0 answers or `timeout` has passed.
Result<std::unique_ptr<Peers>> JoinPeers(const std::string& token, int rank, int world_size,
                                         Duration timeout);

}  // namespace assay
