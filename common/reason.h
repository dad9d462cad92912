// The reason of a failure, for programs. common/reasons.inc lists all reasons.
#pragma once

#include <ostream>
#include <string_view>

namespace assay {

// Numbered as assay.v1.Reason, so that a cast converts one to the other.
enum class Reason : int {
  kNone = 0,
#define ASSAY_REASON(number, enumerator, word, failure_class, meaning) enumerator = number,
#include "common/reasons.inc"
#undef ASSAY_REASON
};

// Returns "PEER_LOST" and so on. Empty for kNone and for numbers outside the enum.
std::string_view ReasonWord(Reason reason);

// Returns the reason with this word, or kNone.
Reason ReasonOfWord(std::string_view word);

// Returns true if the reason means that a rank (one process of a job) failed only because another
// rank failed or became unreachable.
inline bool IsPeerLoss(Reason reason) {
  return reason == Reason::kPeerLost || reason == Reason::kPeerTimeout ||
         reason == Reason::kPeerFrozen || reason == Reason::kPeerUnreachable;
}

std::ostream& operator<<(std::ostream& out, Reason reason);

}  // namespace assay
