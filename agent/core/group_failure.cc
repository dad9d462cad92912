#include "agent/core/group_failure.h"

#include <algorithm>
#include <utility>

namespace assay::agent {
namespace {

// From the first rank's end: what its peers notice of it, or it of them.
constexpr Duration kTellGrace = std::chrono::seconds(1);
// Where a node is not reached and a third one hears more: rank 0 notices up to two seconds later
// than others, and its node reports when its processes have gone.
constexpr Duration kThirdNodeGrace = std::chrono::seconds(5);

}  // namespace

void GroupFailure::Offer(Telling telling, v1::Failure failure) {
  if (failure_ && telling <= telling_) return;
  failure_ = std::move(failure);
  telling_ = telling;
}

void GroupFailure::Suspect(Telling telling, v1::Failure failure, MonotonicTime now) {
  Offer(telling, std::move(failure));
  const MonotonicTime end = now + Grace();
  end_of_wait_ = end_of_wait_ ? std::min(*end_of_wait_, end) : end;
}

void GroupFailure::AddToMessage(const std::string& text) {
  if (failure_) failure_->mutable_message()->append(text);
}

Duration GroupFailure::Grace() const {
  if (telling_ > Telling::kUnreached || !spread_) return kTellGrace;
  return telling_ == Telling::kUnreached && third_ ? kThirdNodeGrace : kOtherNodeGrace;
}

}  // namespace assay::agent
