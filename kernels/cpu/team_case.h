// The base class of CPU benchmarks in which one or more threads work on arrays. It provides the
// threads, the timing, the verification and the measurement of the CPU's best rates. Subclasses add
// their arrays, the code of one iteration, and the check of the output.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "kernels/benchmark.h"
#include "kernels/cpu/caches.h"
#include "kernels/cpu/host_timer.h"
#include "kernels/cpu/probe.h"
#include "kernels/cpu/thread_team.h"

namespace assay {

class TeamCase : public Case {
 public:
  // `touched_bytes` is the size of the memory that an iteration reads or writes.
  TeamCase(const RunContext& context, int threads, double touched_bytes)
      : seed_(context.seed), threads_(threads), touched_bytes_(touched_bytes) {}

  // Starts the threads and calls Allocate(). Must be called once, before all other methods.
  Status Prepare() {
    ASSAY_RETURN_IF_ERROR(CheckThreadCount(threads_));
    ASSAY_ASSIGN_OR_RETURN(team_, ThreadTeam::Start(threads_));
    return Allocate();
  }

  Timing HowTimed() const override {
    return {StaysInCpuCaches(touched_bytes_) ? "hot" : "cold", "random", "host_clock"};
  }

  double MinSampleSeconds() const override { return 1e-3; }

  Result<Verdict> Verify() override {
    FillOutput(1);
    team_->Run([this](int worker) { Iterate(worker); });
    return VerifyLast();
  }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    // Writes NaN to one element per page, so that the check finds pages that the timed loops skip.
    FillOutput(4096 / sizeof(double));
    if (threads_ == 1) {
      // The worker thread itself reads the clock, so that the times do not include waking it up.
      team_->Run([&](int worker) {
        TimeByHostClock(
            samples, batch, [&] { Iterate(worker); }, seconds);
      });
      return Status::Ok();
    }
    const std::function<void(int)> iterate = [this](int worker) { Iterate(worker); };
    TimeByHostClock(
        samples, batch, [&] { team_->Run(iterate); }, seconds);
    return Status::Ok();
  }

  Result<Ceilings> MeasureCeilings() override {
    Ceilings ceilings = ProbeCpu(threads_, true);
    if (threads_ > 1) {
      ceilings.fixed_seconds =
          MedianSecondsOf([this] { team_->Run([](int) {}); }, MinSampleSeconds());
    }
    return ceilings;
  }

 protected:
  // Allocates the arrays and fills the inputs, after checking that there is enough memory. Each
  // thread must be the first to write the elements that it will read, so that they are placed on
  // the thread's NUMA node.
  virtual Status Allocate() = 0;
  // Writes NaN to every `step`-th element of the output.
  virtual void FillOutput(int64_t step) = 0;
  // Runs the part of an iteration that belongs to `worker`, on that worker's thread.
  virtual void Iterate(int worker) = 0;

  uint64_t seed() const { return seed_; }
  ThreadTeam& team() { return *team_; }

 private:
  const uint64_t seed_;
  const int threads_;
  const double touched_bytes_;
  std::unique_ptr<ThreadTeam> team_;
};

}  // namespace assay
