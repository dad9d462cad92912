// Lets the ranks of a gang (processes that run a collective together) recognize each other. A rank
// that opens a connection sends a greeting: the purpose of the connection, a nonce (a secret random
// number), and its own rank number. On control connections TLS under the gang's key replaces the
// nonce. A connection without a valid greeting is dropped without a reply.
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
#include "gang/tls.h"

namespace assay {

// Returns 128 random bits as 32 hexadecimal digits.
Result<std::string> NewNonce();
// Returns 256 random bits as 64 hexadecimal digits.
Result<std::string> NewKey();

// The address at which a rank listens, and the secret that callers need: a nonce for data
// connections, or the gang's key for control connections. The unused field is empty.
struct MeetingPoint {
  std::string host;
  int port = 0;
  std::string nonce;
  std::string key;

  // Returns "HOST:PORT/NONCE" or "HOST:PORT/KEY".
  std::string ToString() const;
  // Parses both forms. Returns BadToken() if the text is malformed.
  static Result<MeetingPoint> Parse(const std::string& text);
};

// Returns the error INVALID_ARGUMENT (BAD_TOKEN) for a malformed token. The message does not
// contain the token, because the token is a secret.
Status BadToken();

// The use of a connection.
enum class Purpose { kMessages, kHeartbeats };
inline constexpr Purpose kPurposes[] = {Purpose::kMessages, Purpose::kHeartbeats};

// The rank that opens a connection, and the purpose of the connection.
struct Caller {
  int rank = 0;
  Purpose purpose = Purpose::kMessages;

  bool operator<(const Caller& other) const {
    return std::tie(rank, purpose) < std::tie(other.rank, other.purpose);
  }
};

// The conditions under which AcceptCallers() waits for other ranks.
struct AcceptWatch {
  // Process descriptors (pidfds) of ranks on this machine. If one of these processes ends, the wait
  // fails at once with PEER_LOST.
  std::vector<int> processes;
  // Limits for hosts that stop answering. The hosts of all ranks with a heartbeat connection are
  // checked at intervals of `hosts.interval`. If one of these hosts has not answered for
  // `hosts.host_patience`, the wait fails with PEER_UNREACHABLE.
  HeartbeatRule hosts;
  // Encrypts the connections, unless null.
  const GangTls* tls = nullptr;
  // Time limit for a greeting, which callers send as soon as they have connected.
  Duration greeting_patience = std::chrono::seconds(5);
};

// Waits until each of `callers` has connected to `listener` and has sent a valid greeting. Drops
// all other connections. A connection that sends nothing is dropped after `watch.greeting_patience`
// and does not delay the others. If strangers open many connections, those of the address with the
// most connections are dropped first. If callers are missing at the deadline, the error lists their
// ranks, and Status::peer is the lowest of these ranks. Stores the accepted connections in
// `*arrived`, even on failure.
Status AcceptCallers(const Socket& listener, const std::string& nonce, std::set<Caller> callers,
                     const AcceptWatch& watch, MonotonicTime deadline,
                     std::map<Caller, Socket>* arrived);

// Accepts one message connection from each of `ranks` by AcceptCallers(). Returns the connections
// by rank.
Result<std::map<int, Socket>> AcceptRanks(const Socket& listener, const std::string& nonce,
                                          const std::set<int>& ranks, MonotonicTime deadline);

// Time limit for two ranks to open a data connection once they know the address. It is shorter than
// kPeerTimeout, so that both ranks can report a failure while the other ranks are still waiting.
inline constexpr Duration kConnectTimeout = std::chrono::seconds(30);

// Connects to the rank that listens at `point` and sends a greeting, encrypted unless `tls` is
// null. Retries until `deadline`. On failure, sets `*host_answers` unless `host_answers` is null.
// True means that the other host received the greeting and still answers, so only the rank's
// process is silent.
Result<Socket> ConnectAndGreet(const MeetingPoint& point, const Caller& caller,
                               MonotonicTime deadline, bool* host_answers = nullptr,
                               const GangTls* tls = nullptr);

}  // namespace assay
