// The control plane between the ranks of a gang: small messages over TCP, a star
// around rank 0. Data never travels here.
//
// Rank 0 listens and hands its token to the others by way of the agent; all then
// connect. The token is HOST:PORT/NONCE: a connection that does not present the
// nonce is dropped, whatever it sends. Each rank connects twice: for messages, and for
// heartbeats alone, which a PeerWatch sends and hears whatever the rank is doing.
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

// One rank's end. Every operation is called by all ranks, in the same order, by
// one thread each. Errors name the other rank (Status::peer): UNAVAILABLE (PEER_LOST) if its
// connection ended, DEADLINE_EXCEEDED (PEER_TIMEOUT) if it was waited for in vain, of several the
// lowest. After an error the gang is over.
class Peers {
 public:
  virtual ~Peers() = default;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // The connections for a PeerWatch: to every rank at rank 0, to rank 0 elsewhere. Nothing is
  // sent on them without one. They stay open as long as this lives.
  virtual std::vector<PeerConnection> Heartbeats() const = 0;

  // Returns when all ranks have called it.
  virtual Status Barrier(Duration timeout) = 0;
  // Rank 0's `bytes` replace those of the others. At most kMaxFrameBytes.
  virtual Status Broadcast(std::string* bytes, Duration timeout) = 0;
  // At rank 0 everyone's bytes, by rank; elsewhere empty.
  virtual Result<std::vector<std::string>> Gather(std::string_view bytes, Duration timeout) = 0;

  // PEER_LOST if a connection of this rank has ended, without waiting: what to ask while
  // waiting for other ranks by other means. Rank 0 sees all ranks, the others rank 0, which
  // leaves when it sees one lost. Unlike the rest, any thread may call it at any time.
  virtual Status Check() const = 0;
};

// Everyone's bytes, by rank, at every rank.
Result<std::vector<std::string>> AllGather(Peers& peers, std::string_view bytes, Duration timeout);

// Returns OK at every rank if `mine` is OK at every rank. Otherwise returns the error of the lowest
// failing rank at every rank, and names that rank (Status::rank). An error that was agreed before
// keeps its rank. PEER_LOST is returned only if no rank has another error, since another error
// causes it.
Status Agree(Peers& peers, const Status& mine, Duration timeout);

// How long ranks wait for one another outside the timed window: a slow rank may
// be allocating or computing a reference. A PeerWatch notices sooner that one is frozen.
inline constexpr Duration kPeerTimeout = std::chrono::seconds(120);

// Rank 0's listening socket.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  // Returns the data that the other ranks need to connect. It contains a secret, so it must not be
  // logged.
  virtual const std::string& token() const = 0;
  // Waits for ranks 1 to world_size - 1. Drops strangers. Call once. Of ranks on this machine
  // `processes` may have pidfds: PEER_LOST as soon as one of them has ended.
  virtual Result<std::unique_ptr<Peers>> Accept(int world_size, const std::vector<int>& processes,
                                                Duration timeout) = 0;
  // After Accept failed a connection to each rank that had come: that for heartbeats, or the other
  // of one that had no more yet. They stay open as long as this lives.
  virtual std::vector<PeerConnection> Arrived() const = 0;
};

// Listens on a free port of `address` (numeric, or a name of this host).
Result<std::unique_ptr<Rendezvous>> ListenForPeers(const std::string& address);

// Connects rank `rank` (1 or above) to the rank 0 that made `token`; tries again
// until it answers or `timeout` has passed.
Result<std::unique_ptr<Peers>> JoinPeers(const std::string& token, int rank, int world_size,
                                         Duration timeout);

}  // namespace assay
