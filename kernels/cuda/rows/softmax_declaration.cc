// softmax: y = exp(x - max) / sum(exp(x - max)) of each row.
#include "kernels/cuda/rows/row_declaration.h"

namespace assay {
namespace {

// Operations per element: max, subtract, exp, add, divide. In the `unfused` variant, each operation
// is a separate kernel.
constexpr int kSteps = 5;

Work SoftmaxWork(const ParameterMap& parameters, int) {
  Work work = RowWork(parameters, /*weights=*/0, kSteps);
  if (Word(parameters, "variant") == "unfused") work.fixed_seconds *= kSteps;
  return work;
}

// 3 rows of 5 fp32 elements: 15 are read and 15 are written.
Work OfFifteenElements(double fixed_seconds) {
  return {
      .flops = 5 * 15, .peak = Peak::kFp32, .bytes = 2 * 15 * 4, .fixed_seconds = fixed_seconds};
}

}  // namespace

Declaration SoftmaxDeclaration() {
  return Declaration("softmax", Resource::kGpu)
      // The kernels' history: version 2 reads long rows only once, version 3 leaves few lanes idle
      // for short rows, and version 4 loads the next two long rows while it processes one.
      .Version(4)
      .Summary("softmax of each row: fused, by warps, or one kernel per step")
      .Parameters(RowParameters(
          ColumnsParameter()
              .With("variant", {"warp"}, AtMost(32), "one lane per column")
              .With("dtype", {"fp16"}, AtMost(65536),
                    "1 / columns must be well above its smallest step, 2^-24"),
          {Parameter::Choice("variant", {"fused", "warp", "unfused"})
               .Describe("fused: one kernel, rows kept in registers; warp: one lane per column, at "
                         "most 32 columns; unfused: max, subtract, exp, sum and divide as kernels "
                         "of their own, with fp32 intermediates in memory")}))
      .Metrics(RowMetrics())
      .Model(
          "bytes = 2 x rows x columns x element size, the least of any variant (unfused moves more "
          "and has a lower bandwidth); FLOPs = 5 x rows x columns; time = bytes / bandwidth + 2.5 "
          "us (0.6 us in a graph)")
      .WorkOf(SoftmaxWork)
      .Validate(ValidateRows)
      .SelfTest({{"rows", "37"}, {"columns", "1023"}})
      .Example({{"rows", "3"}, {"columns", "5"}}, OfFifteenElements(kStreamLaunchSeconds))
      .Example({{"rows", "3"}, {"columns", "5"}, {"variant", "unfused"}, {"launch", "graph"}},
               OfFifteenElements(5 * kGraphLaunchSeconds))
      .Refuses({{"variant", "warp"}, {"columns", "33"}}, "columns")
      .Refuses({{"dtype", "fp16"}, {"columns", "65537"}}, "columns")
      .Refuses({{"rows", "1048577"}, {"columns", "1048576"}}, "rows");
}

}  // namespace assay
