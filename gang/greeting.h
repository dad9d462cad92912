// Lets the ranks of a gang (processes that run a collective together) recognize each other. The
// side that connects first sends the purpose of the connection, the gang's nonce and its rank. A
// connection that sends anything else is dropped without an answer.
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
  // Returns INVALID_ARGUMENT (BAD_TOKEN) for malformed text. The error does not contain the text,
  // which may be a secret.
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
  // Process descriptors (pidfds) of ranks on this machine. The wait ends with PEER_LOST as soon as
  // one of these processes has ended.
  std::vector<int> processes;
  // Limits for the hosts of ranks that have connected for heartbeats. The wait ends with
  // PEER_UNREACHABLE if one has not answered for `host_patience`. Checked every `interval`.
  HeartbeatRule hosts;
};

// Waits until each of `callers` has connected to `listener` and sent a valid greeting. Drops all
// other connections; a connection that sends nothing does not delay the others. Greetings that have
// arrived by the deadline count. The error names the missing ranks and has the lowest one as its
// peer. `arrived` gets the connections that were made, even after an error.
Status AcceptCallers(const Socket& listener, const std::string& nonce, std::set<Caller> callers,
                     const AcceptWatch& watch, MonotonicTime deadline,
                     std::map<Caller, Socket>* arrived);

// Like AcceptCallers, for one connection for messages from each of `ranks`.
Result<std::map<int, Socket>> AcceptRanks(const Socket& listener, const std::string& nonce,
                                          const std::set<int>& ranks, MonotonicTime deadline);

// Time limit for two ranks to open a connection for data after they have exchanged the address.
// Shorter than kPeerTimeout, so that both can report a failure while the other ranks still wait.
inline constexpr Duration kConnectTimeout = std::chrono::seconds(30);

// Connects to a rank and greets it; tries again until `deadline`. If `host_answers` is given and it
// fails, sets it to true if the other host received the greeting and still answers. Then only the
// process there is silent.
Result<Socket> ConnectAndGreet(const MeetingPoint& point, const Caller& caller,
                               MonotonicTime deadline, bool* host_answers = nullptr);

}  // namespace assay
