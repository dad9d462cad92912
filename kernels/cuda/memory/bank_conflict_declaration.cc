// Declares the bank_conflict benchmark, which measures how long a warp's load from shared memory
// takes when `ways` of its lanes access different words of the same bank.
#include "kernels/cuda/frame/gpu_parameters.h"
#include "kernels/cuda/memory/work_sizes.h"

namespace assay {
namespace {

Work BankConflictWork(const ParameterMap& parameters, int) {
  constexpr double kBytesPerCycle = 4 * kBanks;
  constexpr double kLoads = kBankConflictWarps * kBankConflictRounds * kBankConflictRows;
  return {.operations = kLoads,
          .sm_amount = Number(parameters, "ways") * kLoads * kBytesPerCycle,
          .sm_rate = SmRate::kSharedBytes,
          .sm_count = 1,
          .fixed_seconds = kStreamLaunchSeconds};
}

}  // namespace

Declaration BankConflictDeclaration() {
  return Declaration("bank_conflict", Resource::kGpu)
      .Summary("cycles of a shared-memory load by how many lanes share a bank")
      .Parameters({Parameter::Integer("ways").Default(1).AtLeast(1).AtMost(kBanks).Describe(
          "lanes of a warp that access different words of the same bank")})
      .Metrics({Metric::Observed("cycles_per_access", "cycles", Direction::kLowerIsBetter,
                                 "clock cycles of the multiprocessor for one warp's load of 32 "
                                 "words, read in the kernel, 8 warps at once")})
      .Model("a load takes `ways` cycles; an iteration has 32768 loads, on one multiprocessor")
      .Prediction(
          "predicted = ways x 32768 cycles at the clock that the sheet's fp32 peak assumes + 2.5 "
          "us: the 32 banks serve a word each per clock (CUDA C++ Programming Guide). Efficiency: "
          "those cycles over the median time.")
      .WorkOf(BankConflictWork)
      .SelfTest({{"ways", "3"}})
      // Each of eight warps performs 256 rounds of 16 loads. In a 3-way bank conflict, three lanes
      // need the same bank, so a load takes 3 cycles. In each cycle, the 32 banks can deliver 4
      // bytes each, or 128 bytes in total.
      .Example({{"ways", "3"}}, {.operations = 8 * 256 * 16,
                                 .sm_amount = 8 * 256 * 16 * 3 * 128,
                                 .sm_rate = SmRate::kSharedBytes,
                                 .sm_count = 1,
                                 .fixed_seconds = kStreamLaunchSeconds})
      .Refuses({{"ways", "33"}}, "ways");
}

}  // namespace assay
