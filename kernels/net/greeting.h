// How ranks of one gang recognise each other: whoever connects says the gang's
// nonce and its own rank first. Anything else is dropped without an answer.
#pragma once

#include <map>
#include <set>
#include <string>

#include "common/clock.h"
#include "common/status.h"
#include "kernels/net/socket.h"

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

// Waits until each of `ranks` has connected to `listener` and greeted. Strangers,
// wrong nonces and repeated ranks are dropped; a silent connection holds nobody up.
// The error names the lowest rank that is missing.
Result<std::map<int, Socket>> AcceptRanks(const Socket& listener, const std::string& nonce,
                                          std::set<int> ranks, MonotonicTime deadline);

// Connects and greets as `rank`; tries again until `deadline`.
Result<Socket> ConnectAndGreet(const MeetingPoint& point, int rank, MonotonicTime deadline);

}  // namespace assay
