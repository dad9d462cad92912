// Reasons of failures as sent in messages, and what is known about each reason.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assay/v1/failure.pb.h"
#include "common/reason.h"

namespace assay {

struct ReasonInfo {
  v1::Reason reason = v1::REASON_UNSPECIFIED;
  std::string_view word;  // "PEER_LOST"
  // The failure class, which says who must act if a job fails for this reason. UNSPECIFIED if jobs
  // cannot fail for this reason.
  v1::FailureClass failure_class = v1::FAILURE_CLASS_UNSPECIFIED;
  std::string_view meaning;  // One sentence.
};

// Returns every reason, in the order of the enum.
const std::vector<ReasonInfo>& AllReasons();

inline v1::Reason ToWire(Reason reason) { return static_cast<v1::Reason>(reason); }
inline Reason FromWire(v1::Reason reason) { return static_cast<Reason>(reason); }

// Returns the word for a reason, such as "PEER_LOST". Returns an empty string if it is unknown.
std::string ReasonWord(v1::Reason reason);

// Returns the class of failures with this reason, which says who must act.
v1::FailureClass ClassOf(v1::Reason reason);

// Returns a failure with this reason and with the class that belongs to the reason.
v1::Failure MakeFailure(v1::Reason reason, std::string message, std::string evidence = "");

inline bool IsPeerLoss(v1::Reason reason) { return IsPeerLoss(FromWire(reason)); }

}  // namespace assay
