// How ranks of one gang recognise each other: whoever connects says first what the
// connection is for, the gang's nonce and its own rank. Anything else is dropped without
// an answer.
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

// 128 random bits as 32 hexadecimal digits.
Result<std::string> NewNonce();

// Where a rank listens and what to say there.
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

// Who connects, and for what.
struct Caller {
  int rank = 0;
  Purpose purpose = Purpose::kMessages;

  bool operator<(const Caller& other) const {
    return std::tie(rank, purpose) < std::tie(other.rank, other.purpose);
  }
};

// Conditions that end the wait for callers early.
struct AcceptWatch {
  // pidfds of ranks on this machine: PEER_LOST as soon as one has ended.
  std::vector<int> processes;
  // PEER_UNREACHABLE for a rank that has come, for heartbeats, and whose host has not answered for
  // `host_patience`. Checked every `interval`.
  HeartbeatRule hosts;
};

// Waits until each of `callers` has connected to `listener` and greeted. Greetings that are there
// when the wait ends still count. Drops strangers, wrong nonces and repeated greetings; a silent
// connection delays nobody. The error names the ranks that are missing, the lowest as its peer.
// `arrived` has those that came, also after an error.
Status AcceptCallers(const Socket& listener, const std::string& nonce, std::set<Caller> callers,
                     const AcceptWatch& watch, MonotonicTime deadline,
                     std::map<Caller, Socket>* arrived);

// As AcceptCallers, one connection for messages from each of `ranks`.
Result<std::map<int, Socket>> AcceptRanks(const Socket& listener, const std::string& nonce,
                                          const std::set<int>& ranks, MonotonicTime deadline);

// How long ranks that have agreed where to meet may take for a connection that carries data.
// Shorter than kPeerTimeout, for which the others wait for the word of those two.
inline constexpr Duration kConnectTimeout = std::chrono::seconds(30);

// Connects and greets; tries again until `deadline`. With `host_answers` it then tells whether the
// other host took the greeting and answers, so that its process alone says nothing.
Result<Socket> ConnectAndGreet(const MeetingPoint& point, const Caller& caller,
                               MonotonicTime deadline, bool* host_answers = nullptr);

}  // namespace assay
