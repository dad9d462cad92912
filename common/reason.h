// Why something failed, for programs. common/reasons.inc lists every reason.
#pragma once

#include <ostream>
#include <string_view>

namespace assay {

// Numbered as assay.v1.Reason, so that crossing the wire is a cast.
enum class Reason : int {
  kNone = 0,
#define ASSAY_REASON(number, enumerator, word, failure_class, meaning) enumerator = number,
#include "common/reasons.inc"
#undef ASSAY_REASON
};

// "PEER_LOST", ...; empty for kNone and for numbers outside the enum.
std::string_view ReasonWord(Reason reason);

// The reason with this word; kNone if there is none.
Reason ReasonOfWord(std::string_view word);

// True if a rank of a gang gave up because of another: PEER_LOST, _TIMEOUT, _FROZEN, _UNREACHABLE.
inline bool IsPeerLoss(Reason reason) {
  return reason == Reason::kPeerLost || reason == Reason::kPeerTimeout ||
         reason == Reason::kPeerFrozen || reason == Reason::kPeerUnreachable;
}

std::ostream& operator<<(std::ostream& out, Reason reason);

}  // namespace assay
