// Which of the failures that a job's ranks end with is the job's.
#pragma once

#include <optional>
#include <string>

#include "assay/v1/failure.pb.h"
#include "common/clock.h"

namespace assay::agent {

// How much a failure says of what went wrong, the least first. When a rank fails, its
// peers fail with it, in any order.
enum class Telling {
  kLostPeer,    // A runner ended because another rank had.
  kUnreached,   // It and another node do not reach each other; either may be at fault.
  kLatePeer,    // It waited for another in vain, and knows for which.
  kExit,        // It ended otherwise, without a word on fd 3,
  kSignal,      // or by a signal, which its peers would not have sent.
  kAborted,     // It said why, with evidence.
  kEverything,  // A protocol error, a timeout, Stop: this ends the group as it is.
};

// From SIGTERM to SIGKILL.
inline constexpr Duration kStopGrace = std::chrono::seconds(2);
// For the coordinator's word of what another node's ranks say. That node waits for what its own
// ranks tell, and reports when they have gone.
inline constexpr Duration kOtherNodeGrace = kStopGrace + std::chrono::seconds(2);

// Picks the most informative failure among one node's ranks, regardless of arrival order. After the
// first rank's end the others have a second to end by themselves. Where ranks elsewhere take part,
// one that has only lost a peer, or does not reach it and cannot tell which of the two is cut off,
// waits longer, for what stops it from there.
class GroupFailure {
 public:
  // `spread`: ranks elsewhere take part; `third`: on two other nodes or more.
  GroupFailure(bool spread, bool third) : spread_(spread), third_(third) {}

  // Keeps the failure if it tells more than what there is.
  void Offer(Telling telling, v1::Failure failure);
  // As Offer, of a rank that has ended at `now`: until EndOfWait() others may tell more.
  void Suspect(Telling telling, v1::Failure failure, MonotonicTime now);
  // Appends to the message of the failure recorded so far.
  void AddToMessage(const std::string& text);

  const std::optional<v1::Failure>& Get() const { return failure_; }
  // nullopt before Suspect.
  std::optional<MonotonicTime> EndOfWait() const { return end_of_wait_; }
  // All ranks here may have gone, and what cost them their peer may be said elsewhere.
  bool AwaitsCause() const { return spread_ && end_of_wait_ && telling_ <= Telling::kUnreached; }

 private:
  Duration Grace() const;

  const bool spread_;
  const bool third_;
  std::optional<v1::Failure> failure_;
  Telling telling_ = Telling::kLostPeer;  // Of failure_, if there is one.
  std::optional<MonotonicTime> end_of_wait_;
};

}  // namespace assay::agent
