// Declares the cpu_branches benchmark, which measures the cost of branches that the CPU can predict
// and of those that it cannot.
#include "kernels/cpu/branches.h"
#include "kernels/declaration.h"

namespace assay {

Declaration CpuBranchesDeclaration() {
  return Declaration("cpu_branches", Resource::kCpu)
      .Summary("time of a branch on one core, predictable or not")
      .Parameters({
          Parameter::Choice("pattern", {"random", "alternating", "always"})
              .Describe("random: half of the branches are taken, in random order; alternating: "
                        "every other branch is; always: all go the same way"),
          Parameter::Integer("period")
              .Default(1048576)
              .AtLeast(1)
              .AtMost(int64_t{1} << 26)
              .Describe("branches until the pattern repeats; a CPU learns short random patterns"),
      })
      .Metrics({
          Metric::Time("branch_time", "ns", Quantity::kSecondsPerOperation,
                       "time of a branch and the addition or subtraction that it chooses"),
          Metric::Rate("throughput", "Gop/s", Quantity::kOperations,
                       "additions and subtractions per second, one per branch"),
      })
      .Model(
          "an iteration has whole periods of steps of one thread, at least 2^20; each loads a "
          "byte, and a branch on it "
          "decides whether a number is added or subtracted. Half of the random branches are "
          "mispredicted, so a misprediction costs twice the difference between random and always")
      .Prediction("none: no measured rate gives the time of a branch")
      .WorkOf([](const ParameterMap& parameters, int) {
        return Work{.operations = static_cast<double>(BranchSteps(Integer(parameters, "period")))};
      })
      .SelfTest({{"period", "100003"}})
      .SelfTestAlso({{"pattern", "alternating"}})
      .SelfTestAlso({{"pattern", "always"}})
      .Example({{"period", "1000"}}, {.operations = 1049000})
      .Refuses({{"period", "0"}}, "period");
}

}  // namespace assay
