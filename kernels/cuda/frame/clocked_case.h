// For kernels that read the clocks themselves, around exactly what they measure: a case
// whose every sample also has the clock cycles and the nanoseconds between two readings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/frame/gpu_case.h"

namespace assay {

// What passed between two readings of one multiprocessor's clocks. In device memory;
// kernels of one stream add to it, one thread each.
struct Ticks {
  unsigned long long cycles = 0;
  unsigned long long nanoseconds = 0;
};

#ifdef __CUDACC__
// Both clocks now. The order among volatile statements is that of the program.
__device__ inline Ticks ReadClocks() {
  Ticks now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now.cycles)::"memory");
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now.nanoseconds)::"memory");
  return now;
}

// Adds what passed from `begin` to `end`.
__device__ inline void AddTicks(const Ticks& begin, const Ticks& end, Ticks* sum) {
  sum->cycles += end.cycles - begin.cycles;
  sum->nanoseconds += end.nanoseconds - begin.nanoseconds;
}
#endif

// Derived classes pass TicksOfIteration() to the kernel of each iteration, exactly once.
// They have no launch: graph, which would fix that address.
class ClockedCase : public GpuCase {
 public:
  using GpuCase::GpuCase;

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override;

 protected:
  // To be called first by what overrides it.
  Status SetUp() override;
  // Where the coming iteration adds. Outside of Run: where nobody reads.
  Ticks* TicksOfIteration();
  // Of an iteration, one for every sample of Run so far.
  const std::vector<double>& cycles() const { return cycles_; }
  const std::vector<double>& nanoseconds() const { return nanoseconds_; }

 private:
  DeviceBuffer ticks_;  // Of no sample, then of each sample of Run.
  int64_t samples_ = 0;
  int64_t batch_ = 0;
  int64_t iteration_ = 0;  // Of Run; the first is untimed.
  std::vector<double> cycles_;
  std::vector<double> nanoseconds_;
};

}  // namespace assay
