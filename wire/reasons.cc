#include "wire/reasons.h"

#include <algorithm>
#include <utility>

namespace assay {
namespace {

#define ASSAY_REASON(number, enumerator, word, failure_class, meaning) \
  static_assert(static_cast<int>(v1::REASON_##word) == number,         \
                "common/reasons.inc and failure.proto must agree about " #word);
#include "common/reasons.inc"
#undef ASSAY_REASON

}  // namespace

const std::vector<ReasonInfo>& AllReasons() {
  static const auto* const reasons = new std::vector<ReasonInfo>{
#define ASSAY_REASON(number, enumerator, word, failure_class, meaning) \
  {v1::REASON_##word, #word, v1::FAILURE_CLASS_##failure_class, meaning},
#include "common/reasons.inc"
#undef ASSAY_REASON
  };
  return *reasons;
}

std::string ReasonWord(v1::Reason reason) { return std::string(ReasonWord(FromWire(reason))); }

v1::FailureClass ClassOf(v1::Reason reason) {
  const auto found = std::find_if(AllReasons().begin(), AllReasons().end(),
                                  [&](const ReasonInfo& one) { return one.reason == reason; });
  return found == AllReasons().end() ? v1::FAILURE_CLASS_UNSPECIFIED : found->failure_class;
}

v1::Failure MakeFailure(v1::Reason reason, std::string message, std::string evidence) {
  v1::Failure failure;
  failure.set_failure_class(ClassOf(reason));
  failure.set_reason(reason);
  failure.set_message(std::move(message));
  failure.set_evidence(std::move(evidence));
  return failure;
}

}  // namespace assay
