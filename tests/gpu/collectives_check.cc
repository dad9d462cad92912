// Every collective on every rank: right outputs pass, spoiled ones do not, in a stream,
// replayed from a graph, in groups and timed as nccl-tests does.
//   collectives_check [RANKS [NAME...]]
// of these collectives only; "reductions" is every operation on every type.
// Exit code 77: fewer than two GPUs.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "kernels/nccl/collective_case.h"
#include "kernels/registry.h"
#include "tests/gpu/plant.h"
#include "tests/gpu/rank_processes.h"

namespace assay {
namespace {

// Spoils `bytes` of the output from `offset` on; the check has to find it.
bool FindsFault(const RunContext& context, const std::string& what, CollectiveCase* one,
                int64_t offset, int64_t bytes, bool flip) {
  const OutputRange output = one->LastOutput();
  char* const at = static_cast<char*>(output.data) + offset;
  std::vector<unsigned char> spoiled(static_cast<size_t>(bytes));
  cudaMemcpy(spoiled.data(), at, spoiled.size(), cudaMemcpyDefault);
  for (unsigned char& byte : spoiled) byte = flip ? byte ^ 0x40 : 0xff;
  const Plant plant(at, spoiled);
  return Passed(context, what, one->VerifyLast(), false);
}

// Only of outputs that VerifyLast takes as they are.
bool FindsFaults(const RunContext& context, const std::string& what, CollectiveCase* one) {
  const int64_t bytes = one->LastOutput().bytes;
  if (bytes == 0) return true;
  bool found = FindsFault(context, what + ": first byte flipped", one, 0, 1, true);
  found = FindsFault(context, what + ": last byte flipped", one, bytes - 1, 1, true) && found;
  const int64_t chunk = std::min<int64_t>(bytes, 512);
  found =
      FindsFault(context, what + ": chunk unwritten", one, bytes - chunk, chunk, false) && found;
  return Passed(context, what + ": restored", one->VerifyLast(), true) && found;
}

bool TestCase(RunContext context, const Collective& collective, ParameterMap given) {
  given["ranks"] = std::to_string(context.world_size);
  std::string what = collective.name;
  for (const auto& [name, value] : given) what += " " + name + "=" + value;
  const Benchmark* benchmark = *BuiltinBenchmarks().Find(collective.name);
  const auto parameters = CheckParameters(*benchmark, given);
  if (!parameters.ok()) return Passed(context, what, parameters.status(), true);
  context.parameters = *parameters;
  context.seed = 7;
  const auto begin = std::chrono::steady_clock::now();
  const auto prepared = benchmark->Prepare(context);
  if (!prepared.ok() && IsUnsupported(prepared.status())) {
    if (context.rank == 0) {
      std::printf("skip %s: %s\n", what.c_str(), prepared.status().message().c_str());
    }
    return true;
  }
  if (!prepared.ok()) return Passed(context, what, prepared.status(), true);
  auto* const one = static_cast<CollectiveCase*>(prepared->get());
  bool passed = Passed(context, what + ": before timing", one->Verify(), true);
  std::vector<double> seconds;
  const Status ran = one->Run(2, one->BatchGranularity(), &seconds);
  passed = (ran.ok() || Passed(context, what, ran, true)) && passed;
  passed = Passed(context, what + ": after timing", one->VerifyLast(), true) && passed;
  const bool repeatable = !collective.reduces || given["in_place"] != "true";
  if (repeatable) passed = FindsFaults(context, what, one) && passed;
  const auto diagnosis = one->Diagnose(16);
  passed = diagnosis.ok() && passed;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (context.rank == 0) {
    const bool told = diagnosis.ok() && diagnosis->choice.has_value();
    std::printf("%-4s %s: %.1f us, %s %s %d channels (%.1f s)\n", passed ? "ok" : "FAIL",
                what.c_str(), seconds.empty() ? 0 : seconds.back() * 1e6,
                told ? diagnosis->choice->algorithm.c_str() : "?",
                told ? diagnosis->choice->protocol.c_str() : "",
                told ? diagnosis->choice->channels : 0, took.count());
  }
  return passed;
}

bool TestCollective(const RunContext& context, const Collective& collective) {
  const std::string odd = collective.divided ? "1000003" : "1000004";
  bool passed = TestCase(context, collective, {{"bytes", odd}});
  const std::vector<ParameterMap> variants = {
      {{"bytes", "67108864"}, {"dtype", "bf16"}, {"launch", "graph"}},
      {{"bytes", "65536"}, {"in_place", "true"}, {"launch", "graph"}},
      {{"bytes", "67108864"}, {"in_place", "true"}, {"launch", "graph"}, {"policy", "nccl_tests"}},
      {{"bytes", "65536"}, {"aggregate", "4"}, {"dtype", "fp8_e4m3"}},
      {{"bytes", "65536"}, {"policy", "nccl_tests"}, {"dtype", "int64"}},
  };
  for (ParameterMap given : variants) {
    if (collective.not_in_place != nullptr && given.count("in_place") != 0) continue;
    if (collective.rooted) given["root"] = std::to_string(context.world_size - 1);
    passed = TestCase(context, collective, given) && passed;
  }
  return passed;
}

// Every operation on every type, in the collective that has both on all ranks.
bool TestReductions(const RunContext& context) {
  bool passed = true;
  const Collective& all_reduce = CollectiveOf(CollectiveKind::kAllReduce);
  for (const CollectiveType& type : CollectiveTypes()) {
    for (const CollectiveOp& op : CollectiveOps()) {
      passed = TestCase(context, all_reduce,
                        {{"bytes", "49160"}, {"dtype", type.name}, {"op", op.name}}) &&
               passed;
    }
  }
  return passed;
}

int Main(int ranks, const std::vector<std::string>& names) {
  const auto chosen = [&](const std::string& name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  return TestOnRanks(ranks, [&](const RunContext& context) {
    bool all = true;
    for (const Collective& collective : Collectives()) {
      if (chosen(collective.name)) all = TestCollective(context, collective) && all;
    }
    return (!chosen("reductions") || TestReductions(context)) && all;
  });
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  return assay::Main(argc > 1 ? std::atoi(argv[1]) : 2,
                     std::vector<std::string>(argv + std::min(argc, 2), argv + argc));
}
