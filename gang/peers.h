// Connections for control messages between the ranks of a gang (processes that run a collective
// together). Every rank has two TCP connections to rank 0: one for messages and one for the
// heartbeats of PeerWatch. Benchmark data is never sent over these connections.
//
// Rank 0 listens and creates a token, HOST:PORT/KEY, which agents (the daemons on the nodes)
// forward to the other ranks. The key, chosen at random for each gang, encrypts all control
// connections (see tls.h). Connections without it are dropped.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/status.h"

namespace assay {

class Socket;

// A connection to another rank.
struct PeerConnection {
  int rank = 0;
  const Socket* socket = nullptr;
};

// One rank's connections to the other ranks of its gang. All ranks must call the same functions in
// the same order, each on a single thread. A function fails with PEER_LOST if a connection closes,
// and with PEER_TIMEOUT if a rank does not answer in time. Status::peer is then the rank at the
// other end, or the lowest of several. The gang cannot continue after an error.
class Peers {
 public:
  virtual ~Peers() = default;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // Returns the heartbeat connections, on which only a PeerWatch may send. Rank 0 has one to every
  // other rank, and every other rank has one to rank 0. They stay open until this object is
  // destroyed.
  virtual std::vector<PeerConnection> Heartbeats() const = 0;

  // Returns when all ranks have called it.
  virtual Status Barrier(Duration timeout) = 0;
  // Copies rank 0's `bytes`, at most kMaxFrameBytes, to all other ranks.
  virtual Status Broadcast(std::string* bytes, Duration timeout) = 0;
  // Sends `bytes` to rank 0. At rank 0, returns the bytes of all ranks, indexed by rank. At other
  // ranks, returns an empty vector.
  virtual Result<std::vector<std::string>> Gather(std::string_view bytes, Duration timeout) = 0;

  // Returns PEER_LOST if a connection of this rank has closed. Never blocks, and may be called on
  // any thread at any time. Use this while waiting for other ranks outside this class, for example
  // in NCCL. Only rank 0 is connected to all ranks. If it loses one, it exits, and the others
  // notice.
  virtual Status Check() const = 0;
};

// Returns the bytes of all ranks, indexed by rank, at every rank.
Result<std::vector<std::string>> AllGather(Peers& peers, std::string_view bytes, Duration timeout);

// Exchanges statuses so that all ranks return the same result. Returns OK if `mine` is OK on every
// rank. Otherwise, returns the error of the lowest failing rank, with its number in Status::rank,
// except that:
//   - An error from an earlier Agree() keeps its rank number.
//   - PEER_LOST is returned only if there is no other error, because the loss of a rank is usually
//     a consequence of another error.
Status Agree(Peers& peers, const Status& mine, Duration timeout);

// Time limit for ranks to wait for each other outside the timed measurement. It is long, because a
// rank may need time to allocate memory or compute the expected output. PeerWatch notices a frozen
// rank sooner.
inline constexpr Duration kPeerTimeout = std::chrono::seconds(120);

// Rank 0's listening socket.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  // Returns the token that the other ranks need to connect to rank 0. The token contains a secret,
  // so do not log it.
  virtual const std::string& token() const = 0;
  // Waits until ranks 1 to world_size - 1 have connected. Drops all other connections. Must be
  // called only once. `processes` may contain pidfds of ranks on this machine; if one of these
  // processes exits, Accept() returns PEER_LOST at once.
  virtual Result<std::unique_ptr<Peers>> Accept(int world_size, const std::vector<int>& processes,
                                                Duration timeout) = 0;
  // Returns the ranks that had connected before Accept() failed, with one connection each: the
  // heartbeat connection if there is one, otherwise the message connection. The connections stay
  // open until this object is destroyed.
  virtual std::vector<PeerConnection> Arrived() const = 0;
};

// Listens on a free port of `address` (numeric, or a name of this host).
Result<std::unique_ptr<Rendezvous>> ListenForPeers(const std::string& address);

// Connects this process, as rank `rank` (at least 1), to the rank 0 that created `token`. Keeps
// trying until rank 0 answers or `timeout` has passed.
Result<std::unique_ptr<Peers>> JoinPeers(const std::string& token, int rank, int world_size,
                                         Duration timeout);

}  // namespace assay
