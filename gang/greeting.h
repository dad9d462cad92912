// How ranks of one gang recognise each other. The side that connects first sends the purpose of the
// connection, the gang's nonce and its own rank. A connection that sends anything else is dropped
// without an answer.
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

  // "HOST:PORT/NONCE"
  std::string ToString() const;
  // INVALID_ARGUMENT (BAD_TOKEN); never repeats the text, which may be a secret.
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
  // pidfds of ranks on this machine: PEER_LOST as soon as one of them has ended.
  std::vector<int> processes;
  // PEER_UNREACHABLE if the host of a rank that has connected for heartbeats has not answered for
  // `host_patience`. Checked every `interval`.
  HeartbeatRule hosts;
};

// Waits until each of `callers` has connected to `listener` and greeted. Greetings that have
// arrived when the wait ends still count. Drops connections of strangers, wrong nonces and repeated
// greetings; a silent connection delays no other. The error names the missing ranks, the lowest one
// as its peer. `arrived` gets the connections that were made, also after an error.
Status AcceptCallers(const Socket& listener, const std::string& nonce, std::set<Caller> callers,
                     const AcceptWatch& watch, MonotonicTime deadline,
                     std::map<Caller, Socket>* arrived);

// Like AcceptCallers, for one connection for messages from each of `ranks`.
Result<std::map<int, Socket>> AcceptRanks(const Socket& listener, const std::string& nonce,
                                          const std::set<int>& ranks, MonotonicTime deadline);

// The limit for a connection that carries data, once both ranks know the address. It is shorter
// than kPeerTimeout, during which the other ranks wait for the report of these two.
inline constexpr Duration kConnectTimeout = std::chrono::seconds(30);

// Connects and greets; tries again until `deadline`. `host_answers` is set to whether the other
// host received the greeting and still answers, which means that only the process is silent.
Result<Socket> ConnectAndGreet(const MeetingPoint& point, const Caller& caller,
                               MonotonicTime deadline, bool* host_answers = nullptr);

}  // namespace assay
