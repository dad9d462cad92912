// divergence: the cost of lanes of a warp that take different branches.
#include <algorithm>

#include "kernels/cuda/execution/work_sizes.h"
#include "kernels/cuda/frame/gpu_parameters.h"

namespace assay {
namespace {

// Returns the number of branches executed, summed over all warps. A warp executes every branch
// taken by at least one of its 32 lanes.
int64_t BranchesTaken(int64_t threads, int64_t branches) {
  return threads / 32 * branches + std::min(threads % 32, branches);
}

Work DivergenceWork(const ParameterMap& parameters, int) {
  const int64_t threads = Integer(parameters, "threads");
  const int64_t taken = BranchesTaken(threads, Integer(parameters, "branches"));
  return {.operations = static_cast<double>(kDivergenceSteps * threads),
          .sm_amount = 32.0 * static_cast<double>(kDivergenceSteps * taken),
          .sm_rate = SmRate::kInt32Mad,
          .fixed_seconds = LaunchSeconds(parameters)};
}

// 1024 steps per thread.
Work Of1024Steps(double threads, double warp_branches) {
  return {.operations = 1024 * threads,
          .sm_amount = 1024 * 32 * warp_branches,
          .sm_rate = SmRate::kInt32Mad,
          .fixed_seconds = kStreamLaunchSeconds};
}

}  // namespace

Declaration DivergenceDeclaration() {
  return Declaration("divergence", Resource::kGpu)
      .Summary("throughput of warps whose lanes take 1 to 32 different branches")
      .Parameters({
          Parameter::Integer("branches")
              .Default(1)
              .AtLeast(1)
              .AtMost(kMaxBranches)
              .Describe("different branches that the lanes of a warp take"),
          Parameter::Integer("threads")
              .Default(1048576)
              .AtLeast(1)
              .AtMost(int64_t{1} << 30)
              .Describe("total number of threads"),
          LaunchParameter(),
      })
      .Metrics({Metric::Rate("throughput", "Gop/s", Quantity::kOperations,
                             "integer multiply-adds of single lanes per second")})
      .Model("operations = 1024 x threads; time grows in proportion to branches")
      .Prediction(
          "predicted = 1024 x threads x branches multiply-adds of 32-bit integers, with all 32 "
          "lanes of a warp occupied for each branch, / (64 per clock and multiprocessor x the "
          "clock that the sheet's fp32 peak assumes) + 2.5 us (0.6 us in a graph). The 64 is from "
          "the CUDA C++ Programming Guide for compute capability 8.0 to 9.0; none on newer GPUs. "
          "Efficiency: the first term over the median time.")
      .WorkOf(DivergenceWork)
      .SelfTest({{"branches", "5"}, {"threads", "1003"}})
      // 31 full warps, and one warp of which only 8 lanes have a thread.
      .Example({{"branches", "3"}, {"threads", "1000"}}, Of1024Steps(1000, 31 * 3 + 3))
      // One full warp, and one warp of which only two lanes have a thread.
      .Example({{"branches", "3"}, {"threads", "34"}}, Of1024Steps(34, 3 + 2))
      .Refuses({{"branches", "33"}}, "branches");
}

}  // namespace assay
