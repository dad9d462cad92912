// The base class of cases whose kernels read the clocks themselves, directly around the measured
// code. Every sample of such a case also has the clock cycles and the nanoseconds between two
// readings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/frame/gpu_case.h"

namespace assay {

// The time between two readings of one multiprocessor's clocks. In device memory; kernels of one
// stream add to it, one thread each.
struct Ticks {
  unsigned long long cycles = 0;
  unsigned long long nanoseconds = 0;
};

#ifdef __CUDACC__
// Reads both clocks. Volatile statements keep their order in the program.
__device__ inline Ticks ReadClocks() {
  Ticks now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now.cycles)::"memory");
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now.nanoseconds)::"memory");
  return now;
}

// Adds the time from `begin` to `end`.
__device__ inline void AddTicks(const Ticks& begin, const Ticks& end, Ticks* sum) {
  sum->cycles += end.cycles - begin.cycles;
  sum->nanoseconds += end.nanoseconds - begin.nanoseconds;
}
#endif

// Derived classes pass TicksOfIteration() to the kernel of each iteration, exactly once. They have
// no parameter `launch`, because a graph would fix that address.
class ClockedCase : public GpuCase {
 public:
  using GpuCase::GpuCase;

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override;

 protected:
  // Overriding methods must call this first.
  Status SetUp() override;
  // Returns the location that the next iteration adds to. Outside Run, that location is never read.
  Ticks* TicksOfIteration();
  // Return the value per iteration, for every sample of Run so far.
  const std::vector<double>& cycles() const { return cycles_; }
  const std::vector<double>& nanoseconds() const { return nanoseconds_; }

 private:
  DeviceBuffer ticks_;  // One for iterations outside samples, then one per sample of Run.
  int64_t samples_ = 0;
  int64_t batch_ = 0;
  int64_t iteration_ = 0;  // Index within Run; the first iteration is not timed.
  std::vector<double> cycles_;
  std::vector<double> nanoseconds_;
};

}  // namespace assay
