// ring_all_reduce and overlap on every rank: right outputs pass in every type, at odd sizes
// and for every number of messages; spoiled ones do not.
//   ring_check [RANKS]
// Exit code 77: fewer than two GPUs.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "kernels/nccl/overlap_case.h"
#include "kernels/nccl/ring_case.h"
#include "kernels/registry.h"
#include "tests/gpu/plant.h"
#include "tests/gpu/rank_processes.h"

namespace assay {
namespace {

// Flips the top exponent bit of the element that ends at byte `end`; the check must find it.
// Every rank does so: the check is a collective one.
bool FindsFault(const RunContext& context, const std::string& what, Case* one,
                const OutputRange& output, int64_t end) {
  char* const at = static_cast<char*>(output.data) + end - 1;
  unsigned char saved = 0;
  cudaMemcpy(&saved, at, 1, cudaMemcpyDefault);
  const auto spoiled = static_cast<unsigned char>(saved ^ 0x40);
  const Plant plant(at, {spoiled});
  return Passed(context, what + " with a flipped bit before byte " + std::to_string(end),
                one->VerifyLast(), false);
}

// Null after an error, which is printed.
template <typename Kind>
std::unique_ptr<Kind> Prepared(RunContext* context, const Benchmark& benchmark, ParameterMap given,
                               const std::string& what) {
  given["ranks"] = std::to_string(context->world_size);
  const auto parameters = CheckParameters(benchmark, given);
  if (!parameters.ok()) return Passed(*context, what, parameters.status(), true), nullptr;
  context->parameters = *parameters;
  context->seed = 7;
  auto one = std::make_unique<Kind>(*context);
  const Status status = one->Prepare();
  if (!status.ok()) return Passed(*context, what, status, true), nullptr;
  return one;
}

bool RunsRight(const RunContext& context, const std::string& what, Case* one) {
  bool passed = Passed(context, what + " before timing", one->Verify(), true);
  std::vector<double> seconds;
  const Status ran = one->Run(3, 2, &seconds);
  if (!ran.ok()) passed = Passed(context, what, ran, true);
  return Passed(context, what + " after timing", one->VerifyLast(), true) && passed;
}

std::string TextOf(const std::string& name, const ParameterMap& given) {
  std::string text = name;
  for (const auto& [key, value] : given) text += " " + key + "=" + value;
  return text;
}

bool TestRing(RunContext context, const ParameterMap& given) {
  const std::string what = TextOf("ring_all_reduce", given);
  const auto one =
      Prepared<RingCase>(&context, **BuiltinBenchmarks().Find("ring_all_reduce"), given, what);
  if (one == nullptr) return false;
  bool passed = RunsRight(context, what, one.get());
  if (given.count("in_place") == 0) {
    const OutputRange output = one->LastOutput();
    const int64_t element = given.at("dtype") == "fp64" ? 8 : given.at("dtype") == "fp32" ? 4 : 2;
    for (const int64_t end : {element, output.bytes / 2 / element * element, output.bytes}) {
      if (end > 0) passed = FindsFault(context, what, one.get(), output, end) && passed;
    }
    passed = Passed(context, what + " restored", one->VerifyLast(), true) && passed;
  }
  if (context.rank == 0) std::printf("%-4s %s\n", passed ? "ok" : "FAIL", what.c_str());
  return passed;
}

bool TestOverlap(RunContext context, const ParameterMap& given) {
  const std::string what = TextOf("overlap", given);
  const auto one =
      Prepared<OverlapCase>(&context, **BuiltinBenchmarks().Find("overlap"), given, what);
  if (one == nullptr) return false;
  bool passed = RunsRight(context, what, one.get());
  const OutputRange gemm = one->GemmOutput();
  const OutputRange collective = one->CollectiveOutput();
  passed = FindsFault(context, what + ", product", one.get(), gemm, gemm.bytes) && passed;
  passed =
      FindsFault(context, what + ", collective", one.get(), collective, collective.bytes) && passed;
  if (context.rank == 0) std::printf("%-4s %s\n", passed ? "ok" : "FAIL", what.c_str());
  return passed;
}

bool TestAll(const RunContext& context) {
  bool passed = true;
  for (const char* dtype : {"fp32", "bf16", "fp16", "fp64"}) {
    for (const char* bytes : {"8", "1000008", "67108864"}) {
      passed = TestRing(context, {{"dtype", dtype}, {"bytes", bytes}}) && passed;
    }
    passed = TestRing(context, {{"dtype", dtype}, {"bytes", "1000008"}, {"chunks", "7"}}) && passed;
    passed =
        TestRing(context, {{"dtype", dtype}, {"bytes", "1000008"}, {"in_place", "true"}}) && passed;
  }
  for (const char* collective : {"all_reduce", "all_gather", "reduce_scatter"}) {
    for (const char* ctas : {"0", "4"}) {
      passed = TestOverlap(context, {{"collective", collective},
                                     {"ctas", ctas},
                                     {"m", "1032"},
                                     {"n", "776"},
                                     {"k", "520"},
                                     {"bytes", "16777220"}}) &&
               passed;
    }
  }
  return passed;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  return assay::TestOnRanks(argc > 1 ? std::atoi(argv[1]) : 2, assay::TestAll);
}
