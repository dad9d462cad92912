#include "kernels/cpu/pointer_cycle.h"

#include <new>
#include <numeric>
#include <string>
#include <utility>

#include "kernels/random.h"

namespace assay {

void PointerCycle::Build(uint64_t seed, std::vector<int64_t>* order) const {
  // Shuffle the order (Fisher and Yates 1938). The random positions are remainders of 64-bit random
  // numbers, so they are almost uniformly distributed.
  std::iota(order->begin(), order->end(), 0);
  int64_t* const indices = order->data();
  for (int64_t i = elements - 1; i > 0; --i) {
    const auto choices = static_cast<uint64_t>(i) + 1;
    std::swap(indices[i], indices[RandomAt(seed, static_cast<uint64_t>(i)) % choices]);
  }
  for (int64_t position = 0; position < elements; ++position) {
    const int64_t next = position + 1 < elements ? position + 1 : 0;
    new (At(indices[position])) Element{At(indices[next]), position};
  }
}

const PointerCycle::Element* PointerCycle::First() const {
  for (int64_t i = 0; i < elements; ++i) {
    if (At(i)->position == 0) return At(i);
  }
  return nullptr;
}

bool PointerCycle::Has(const Element* element) const {
  const auto offset = static_cast<int64_t>(reinterpret_cast<uintptr_t>(element) -
                                           reinterpret_cast<uintptr_t>(base));
  return offset >= 0 && offset < elements * stride && offset % stride == 0;
}

Verdict PointerCycle::Check(const Element* end, int64_t expected) const {
  Verdict verdict;
  verdict.reference = "every element's successor, and the end of the walk";
  verdict.norm = "mismatches";
  verdict.elements_checked = elements;
  for (int64_t i = 0; i < elements; ++i) {
    const Element& element = *At(i);
    const int64_t after = element.position + 1 < elements ? element.position + 1 : 0;
    const bool inside = element.position >= 0 && element.position < elements;
    if (inside && Has(element.next) && element.next->position == after) continue;
    verdict.error += 1;
    if (verdict.detail.empty()) {
      verdict.detail = "element " + std::to_string(i) + " does not point to the next of the cycle";
    }
  }
  if (end == nullptr) {
    verdict.error += 1;
    verdict.detail = "there was no walk";
  } else if (!Has(end) || end->position != expected) {
    verdict.error += 1;
    verdict.detail = "the walk ended at " +
                     (Has(end) ? "position " + std::to_string(end->position)
                               : std::string("no element of the cycle")) +
                     ", should end at position " + std::to_string(expected);
  }
  verdict.passed = verdict.error == 0;
  return verdict;
}

const PointerCycle::Element* Walk(const PointerCycle::Element* at, int64_t loads) {
  for (int64_t i = 0; i < loads; i += kWalkUnroll) {
#pragma GCC unroll 16
    for (int64_t j = 0; j < kWalkUnroll; ++j) at = at->next;
  }
  return at;
}

}  // namespace assay
