// Lets the ranks of a gang (processes that run a collective together) recognize each other. A rank
// that opens a connection sends a greeting: the purpose of the connection, a nonce (a secret random
// number), and its own rank number. Control connections need no nonce, because they are encrypted
// with the gang's key. Connections without a valid greeting are dropped without a reply.
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

// The address at which a rank (one of several cooperating processes) listens, and the secret that
// other ranks need to connect to it. For data connections, the secret is `nonce`. For control
// connections, it is `key`, the gang's key. The unused one is empty.
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

// Returns the error INVALID_ARGUMENT (BAD_TOKEN) for a malformed token. The message omits the
// token, because it is secret.
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
  // Process descriptors (pidfds) of ranks on this machine. If one of these processes exits,
  // AcceptCallers() fails at once with PEER_LOST.
  std::vector<int> processes;
  // Limits for hosts that stop answering. Once every `hosts.interval`, AcceptCallers() checks the
  // hosts of all ranks with open heartbeat connections, and fails with PEER_UNREACHABLE if one has
  // not answered for `hosts.host_patience`.
  HeartbeatRule hosts;
  // Encrypts the connections, unless null.
  const GangTls* tls = nullptr;
  // Time limit for a greeting, which callers send as soon as they have connected.
  Duration greeting_patience = std::chrono::seconds(5);
};

// Waits until each of `callers` has connected to `listener` and sent a valid greeting. Stores their
// connections in `*arrived`, even on failure, and drops all others. If callers are missing at the
// deadline, the error lists their ranks, and Status::peer is the lowest of them. So that strangers
// cannot block callers, a connection without a greeting is dropped after `watch.greeting_patience`,
// or sooner if there are too many such connections.
Status AcceptCallers(const Socket& listener, const std::string& nonce, std::set<Caller> callers,
                     const AcceptWatch& watch, MonotonicTime deadline,
                     std::map<Caller, Socket>* arrived);

// Waits, like AcceptCallers(), until each of `ranks` has opened a message connection. Returns the
// connections, keyed by rank.
Result<std::map<int, Socket>> AcceptRanks(const Socket& listener, const std::string& nonce,
                                          const std::set<int>& ranks, MonotonicTime deadline);

// Time limit for opening a data connection between two ranks once the address is known. It is
// shorter than kPeerTimeout, so that both ranks can report a failure while the other ranks are
// still waiting for them.
inline constexpr Duration kConnectTimeout = std::chrono::seconds(30);

// Connects to the rank that listens at `point` and sends a greeting, encrypted unless `tls` is
// null. Retries until `deadline`. If the other host was reached but the greeting failed, sets
// `*host_answers` (unless null) to true if only the process on that host is silent, and to false
// otherwise.
Result<Socket> ConnectAndGreet(const MeetingPoint& point, const Caller& caller,
                               MonotonicTime deadline, bool* host_answers = nullptr,
                               const GangTls* tls = nullptr);

}  // namespace assay
