// A rank whose GPU is kept busy ahead of every collective is named as the slow one, and
// without such a rank none is.
//   slow_rank [RANKS [MICROSECONDS]]
// Exit code 77: fewer than two GPUs.
#include <cstdio>
#include <cstdlib>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/nccl/collective_case.h"
#include "kernels/registry.h"
#include "runner/rank_times.h"
#include "tests/gpu/rank_processes.h"

namespace assay {
namespace {

constexpr int kRuns = 100;
constexpr int kLeastNamed = 95;

__global__ void Spin(int64_t nanoseconds) {
  int64_t begin = 0;
  int64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

class DelayedCase : public CollectiveCase {
 public:
  using CollectiveCase::CollectiveCase;
  void Delay(int64_t nanoseconds) { nanoseconds_ = nanoseconds; }

 protected:
  Status BeforeIteration(cudaStream_t stream) override {
    if (nanoseconds_ == 0) return Status::Ok();
    Spin<<<1, 1, 0, stream>>>(nanoseconds_);
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

 private:
  int64_t nanoseconds_ = 0;
};

struct Counts {
  int named = 0;         // Right, of the runs with a delay.
  int wrong = 0;         // Another one.
  int false_alarms = 0;  // Of the runs without.
};

Status CountRuns(DelayedCase* one, const RunContext& context, int64_t nanoseconds, Counts* counts) {
  const RankPlace place = {"localhost", context.rank};
  for (int run = 0; run < kRuns; ++run) {
    const int slow = run % context.world_size;
    one->Delay(context.rank == slow ? nanoseconds : 0);
    ASSAY_ASSIGN_OR_RETURN(const GangReport delayed, DiagnoseRanks(*one, context, place, 1e-3));
    one->Delay(0);
    ASSAY_ASSIGN_OR_RETURN(const GangReport even, DiagnoseRanks(*one, context, place, 1e-3));
    counts->named += delayed.slow && delayed.slow->rank == slow ? 1 : 0;
    counts->wrong += delayed.slow && delayed.slow->rank != slow ? 1 : 0;
    counts->false_alarms += even.slow ? 1 : 0;
  }
  return Status::Ok();
}

bool TestSize(RunContext context, CollectiveKind kind, const std::string& bytes,
              int64_t nanoseconds) {
  const Collective& collective = CollectiveOf(kind);
  const Benchmark* benchmark = *BuiltinBenchmarks().Find(collective.name);
  const auto parameters = CheckParameters(
      *benchmark, {{"ranks", std::to_string(context.world_size)}, {"bytes", bytes}});
  context.parameters = *parameters;
  DelayedCase one(collective, context);
  Counts counts;
  const Status prepared = one.Prepare();
  const Status status = prepared.ok() ? CountRuns(&one, context, nanoseconds, &counts) : prepared;
  if (context.rank != 0) return status.ok();
  const bool passed = status.ok() && counts.named >= kLeastNamed && counts.wrong == 0 &&
                      counts.false_alarms <= kRuns - kLeastNamed;
  std::printf(
      "%-4s %s of %s on %d ranks, one delayed by %.0f us: named %d, another %d; without a "
      "delay %d of %d%s%s\n",
      passed ? "ok" : "FAIL", collective.name, bytes.c_str(), context.world_size,
      static_cast<double>(nanoseconds) * 1e-3, counts.named, counts.wrong, counts.false_alarms,
      kRuns, status.ok() ? "" : ": ", status.ToString().c_str());
  return passed;
}

int Main(int ranks, int64_t nanoseconds) {
  return TestOnRanks(ranks, [&](const RunContext& context) {
    bool all = true;
    for (const char* bytes : {"8", "1048576", "67108864"}) {
      all = TestSize(context, CollectiveKind::kAllReduce, bytes, nanoseconds) && all;
    }
    return TestSize(context, CollectiveKind::kAllGather, "1048576", nanoseconds) && all;
  });
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  return assay::Main(argc > 1 ? std::atoi(argv[1]) : 2,
                     (argc > 2 ? std::atoll(argv[2]) : 200) * 1000);
}
