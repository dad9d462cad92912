// The base class of benchmark cases whose kernels measure time themselves, by reading the GPU's
// clocks immediately before and after the measured code. Every sample records clock cycles and
// nanoseconds in addition to its duration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/frame/gpu_case.h"

namespace assay {

// The time between two readings of a multiprocessor's clocks, summed over kernels. Resides in
// device memory, where one thread of each kernel adds to the sums. No atomics are needed, because
// the kernels run in one stream.
struct Ticks {
  unsigned long long cycles = 0;
  unsigned long long nanoseconds = 0;
};

#ifdef __CUDACC__
// Reads both clocks. The compiler does not reorder volatile statements with each other.
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

// A case whose kernels read the GPU's clocks. In each iteration, a derived class must pass
// TicksOfIteration() to its kernel exactly once. Such a benchmark cannot replay CUDA graphs: a
// graph stores the address passed at capture, so all replays would add to the same sums.
class ClockedCase : public GpuCase {
 public:
  using GpuCase::GpuCase;

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override;

 protected:
  // Overriding methods must call this first.
  Status SetUp() override;
  // Returns the address that the next iteration adds its ticks to.
  Ticks* TicksOfIteration();
  // Returns the mean number of clock cycles per iteration, one value for each sample taken by Run.
  // The function below returns nanoseconds instead.
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
