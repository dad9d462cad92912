// Lets the ranks of a gang (processes that run a collective together) recognize each other. A rank
// that opens a connection sends a greeting: the purpose of the connection, the gang's nonce (a
// secret random number), and its own rank number. A connection without a valid greeting is dropped
// without a reply.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "gang/peer_watch.h"
#include "gang/socket.h"

namespace assay {

// Returns 128 random bits as 32 hexadecimal digits.
Result<std::string> NewNonce();

// The address at which a rank listens, and the nonce to send there.
struct MeetingPoint {
  std::string host;
  int port = 0;
  std::string nonce;

  // Returns "HOST:PORT/NONCE".
  std::string ToString() const;
  // Parses "HOST:PORT/NONCE". Returns INVALID_ARGUMENT (BAD_TOKEN) if the text is malformed. The
  // error does not contain the text, because the nonce is a secret.
  static Result<MeetingPoint> Parse(const std::string& text);
};

// The use of a connection.
enum class Purpose { kMessages, kHeartbeats };
inline constexpr Purpose kPurposes[] = {Purpose::kMessages, Purpose::kHeartbeats};

// The rank that connects, and the purpose.
struct Caller {
  int rank = 0;
  Purpose purpose = Purpose::kMessages;

  bool operator<(const Caller& other) const {
    return std::tie(rank, purpose) < std::tie(other.rank, other.purpose);
  }
};

// Conditions that end the wait for callers early.
struct AcceptWatch {
  // Process descriptors (pidfds) of ranks on this machine. If one of these processes ends, the wait
  // fails at once with PEER_LOST.
  std::vector<int> processes;
  // Limits for hosts that stop answering. The hosts of all ranks with a heartbeat connection are
  // checked at intervals of `hosts.interval`. If one of these hosts has not answered for
  // `hosts.host_patience`, the wait fails with PEER_UNREACHABLE.
  HeartbeatRule hosts;
};

// Waits until each of `callers` has connected to `listener` and has sent a valid greeting. Drops
// all other connections. A connection that sends nothing does not delay the others.
// If callers are missing at the deadline, the error lists their ranks, and Status::peer is the
// lowest of these. Stores the accepted connections in `*arrived`, even on failure.
Status AcceptCallers(const Socket& listener, const std::string& nonce, std::set<Caller> callers,
                     const AcceptWatch& watch, MonotonicTime deadline,
                     std::map<Caller, Socket>* arrived);

// Like AcceptCallers, for one connection for messages from each of `ranks`.
Result<std::map<int, Socket>> AcceptRanks(const Socket& listener, const std::string& nonce,
                                          const std::set<int>& ranks, MonotonicTime deadline);

// Time limit for two ranks to open a data connection once they know the address. It is shorter than
// kPeerTimeout, so that both ranks can report a failure while the other ranks are still waiting.
inline constexpr Duration kConnectTimeout = std::chrono::seconds(30);

// Connects to a rank and sends a greeting. Retries until `deadline`. On failure, sets
// `*host_answers` (unless `host_answers` is null): true means that the other host received the
// greeting and still answers, so only the rank's process is silent.
Result<Socket> ConnectAndGreet(const MeetingPoint& point, const Caller& caller,
                               MonotonicTime deadline, bool* host_answers = nullptr);

}  // namespace assay
