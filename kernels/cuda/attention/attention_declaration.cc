// Declares the attention benchmark: softmax(Q K' / sqrt(d)) V for b batches of h heads, with n
// queries and n keys per head. A causal mask halves the FLOP count, although the `naive` variant
// also computes the masked half. The byte count covers one pass over Q, K, V and O and, for
// `naive`, the traffic of the scores, which the other variants keep on chip.
#include "kernels/cuda/frame/gpu_parameters.h"

namespace assay {
namespace {

// The maximum FLOPs per iteration. The fp64 check of this many takes half a minute on an H200.
constexpr double kMaxFlops = 4e14;

double FlopsOf(const ParameterMap& parameters) {
  const double n = Number(parameters, "n");
  const double all =
      4 * Number(parameters, "b") * Number(parameters, "h") * n * n * Number(parameters, "d");
  return Word(parameters, "causal") == "true" ? all / 2 : all;
}

Work AttentionWork(const ParameterMap& parameters, int) {
  const double heads = Number(parameters, "b") * Number(parameters, "h");
  const double n = Number(parameters, "n");
  const auto element_bytes = static_cast<double>(ElementBytes(Word(parameters, "dtype")));
  const std::string& variant = Word(parameters, "variant");
  Work work;
  work.flops = FlopsOf(parameters);
  work.peak = variant == "naive" || variant == "flash" ? Peak::kFp32 : Peak::kBf16;
  work.bytes = 4 * heads * n * Number(parameters, "d") * element_bytes;
  // The first kernel writes the fp32 scores, the softmax reads and overwrites them, and the third
  // kernel reads them: four passes over the scores in total.
  if (variant == "naive") work.bytes += 4 * heads * n * n * 4;
  work.fixed_seconds = LaunchSeconds(parameters) * (variant == "naive" ? 3 : 1);
  return work;
}

Status ValidateAttention(const ParameterMap& parameters) {
  if (FlopsOf(parameters) <= kMaxFlops) return Status::Ok();
  return InvalidParameter("n",
                          "is " + Word(parameters, "n") +
                              "; with b, h and d that is more than 4e14 FLOPs, too many to verify");
}

// 2 x 3 heads, n = 256, d = 64: FLOPs of two products, elements of four arrays, bytes of S.
constexpr double kFlops = 2 * (2.0 * 6 * 256 * 256 * 64);
constexpr double kElements = 4.0 * 6 * 256 * 64;
constexpr double kScores = 4 * (6.0 * 256 * 256 * 4);

ParameterMap ExampleOf(const char* variant, const char* dtype, const char* causal) {
  return {{"variant", variant}, {"dtype", dtype}, {"causal", causal}, {"b", "2"},
          {"h", "3"},           {"n", "256"},     {"d", "64"}};
}

Work ExampleWork(double flops, Peak peak, double bytes, int kernels = 1) {
  return {.flops = flops,
          .peak = peak,
          .bytes = bytes,
          .fixed_seconds = kernels * kStreamLaunchSeconds};
}

}  // namespace

Declaration AttentionDeclaration() {
  return Declaration("attention", Resource::kGpu)
      .Version(3)  // 2: a block of flash_wgmma computes several tiles. 3: with a mask, too.
      .Summary("softmax(Q K' / sqrt(d)) V: naive, and fused as flash attention")
      .Parameters({
          Parameter::Choice("variant", {"naive", "flash", "flash_mma", "flash_wgmma"})
              .Default("flash_mma")
              .Describe("naive: S in memory, three kernels; flash: online softmax in one kernel, "
                        "fp32; flash_mma and flash_wgmma: the same on tensor cores, with mma.sync "
                        "and with Hopper's wgmma"),
          Parameter::Integer("b").Default(4).AtLeast(1).AtMost(1 << 16).Describe("batches"),
          Parameter::Integer("h").Default(16).AtLeast(1).AtMost(1 << 16).Describe(
              "heads per batch"),
          Parameter::Integer("n").Default(4096).AtLeast(1).AtMost(1 << 20).Describe(
              "sequence length: queries and keys"),
          Parameter::Integer("d").Default(128).AtLeast(64).AtMost(128).MultipleOf(64).Describe(
              "length of a head's vectors"),
          Parameter::Boolean("causal").Describe("query i attends to keys 0..i only"),
          DtypeParameter({"bf16", "fp16", "fp32"})
              .With("variant", {"flash"}, OneOf({"fp32"}))
              .With("variant", {"flash_mma", "flash_wgmma"}, OneOf({"bf16", "fp16"})),
          FillParameter(),
          CacheParameter("one set of Q, K, V and O"),
          LaunchParameter(),
      })
      .Metrics({Metric::Rate("tflops", "TFLOP/s", Quantity::kFlops,
                             "multiplications and additions per second")})
      .Model(
          "FLOPs = 4 b h n^2 d, half if causal; bytes = 4 b h n d x element size; time = max(FLOPs "
          "/ peak, bytes / bandwidth) + 2.5 us per kernel (0.6 us in a graph). naive, whose S is "
          "fp32, moves 16 b h n^2 additional bytes (S written, read and written again by the "
          "softmax, read), which count, and computes both halves if causal")
      .WorkOf(AttentionWork)
      .Validate(ValidateAttention)
      .SelfTest({{"b", "1"}, {"h", "3"}, {"n", "331"}, {"d", "64"}})
      .SelfTestAlso({{"variant", "naive"}})
      .SelfTestAlso({{"variant", "flash"}, {"dtype", "fp32"}})
      .SelfTestAlso({{"variant", "flash_wgmma"}})
      .Example(ExampleOf("flash", "fp32", "false"), ExampleWork(kFlops, Peak::kFp32, kElements * 4))
      .Example(ExampleOf("flash_mma", "bf16", "false"),
               ExampleWork(kFlops, Peak::kBf16, kElements * 2))
      .Example(ExampleOf("flash_wgmma", "fp16", "true"),
               ExampleWork(kFlops / 2, Peak::kBf16, kElements * 2))
      .Example(ExampleOf("naive", "fp32", "false"),
               ExampleWork(kFlops, Peak::kFp32, kElements * 4 + kScores, 3))
      .Refuses({{"variant", "flash"}, {"dtype", "bf16"}}, "dtype")
      .Refuses({{"variant", "flash_mma"}, {"dtype", "fp32"}}, "dtype")
      .Refuses({{"d", "96"}}, "d")
      .Refuses({{"n", "1048576"}}, "n");
}

}  // namespace assay
