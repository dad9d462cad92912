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
  // Who has to act if a job fails for this reason. UNSPECIFIED if jobs do not fail for it.
  v1::FailureClass failure_class = v1::FAILURE_CLASS_UNSPECIFIED;
  std::string_view meaning;  // One sentence.
};

// Every reason, in the order of the enum.
const std::vector<ReasonInfo>& AllReasons();

inline v1::Reason ToWire(Reason reason) { return static_cast<v1::Reason>(reason); }
inline Reason FromWire(v1::Reason reason) { return static_cast<Reason>(reason); }

// "PEER_LOST", ...; empty for UNSPECIFIED and for numbers that this version does not know.
std::string ReasonWord(v1::Reason reason);

// Who has to act if a job fails for this reason.
v1::FailureClass ClassOf(v1::Reason reason);

// A failure of the class that belongs to the reason.
v1::Failure MakeFailure(v1::Reason reason, std::string message, std::string evidence = "");

inline bool IsPeerLoss(v1::Reason reason) { return IsPeerLoss(FromWire(reason)); }

}  // namespace assay
