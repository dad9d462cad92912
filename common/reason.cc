#include "common/reason.h"

#include <algorithm>
#include <iterator>

namespace assay {
namespace {

struct Row {
  Reason reason;
  std::string_view word;
};

constexpr Row kRows[] = {
#define ASSAY_REASON(number, enumerator, word, failure_class, meaning) {Reason::enumerator, #word},
#include "common/reasons.inc"
#undef ASSAY_REASON
};

}  // namespace

std::string_view ReasonWord(Reason reason) {
  const auto* const row = std::find_if(std::begin(kRows), std::end(kRows),
                                       [&](const Row& one) { return one.reason == reason; });
  return row == std::end(kRows) ? std::string_view() : row->word;
}

Reason ReasonOfWord(std::string_view word) {
  const auto* const row = std::find_if(std::begin(kRows), std::end(kRows),
                                       [&](const Row& one) { return one.word == word; });
  return row == std::end(kRows) ? Reason::kNone : row->reason;
}

std::ostream& operator<<(std::ostream& out, Reason reason) { return out << ReasonWord(reason); }

}  // namespace assay
