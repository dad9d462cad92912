// Timing of iterations by the host's steady clock, for all CPU benchmarks.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace assay {

// Implements Case::Run(): calls `iterate` for each iteration. There are no untimed iterations.
template <typename Iterate>
void TimeByHostClock(int64_t samples, int64_t batch, const Iterate& iterate,
                     std::vector<double>* seconds) {
  for (int64_t sample = 0; sample < samples; ++sample) {
    const auto begin = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < batch; ++i) iterate();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    seconds->push_back(took.count() / static_cast<double>(batch));
  }
}

}  // namespace assay
