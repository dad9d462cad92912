// Wrong outputs that a verification must find, in the benchmarks on one GPU: a program of its
// own, so that nothing in the benchmarks can plant a fault.
//   In every GpuCase with an output in memory, by the self-test's parameters and every other word
//   of each, by the lines of VARIANTS from the stream and from a graph: flipped bits, NaN, tiles
//   that nobody wrote.
//   In host_transfer: a flipped bit where bytes arrive, in the GPU's memory and in the host's.
//   In vector_add and a copy of memory_bandwidth of 2^28 elements, from the stream and from a
//   graph: the same as in every GpuCase, among them one flipped element.
//   In host_latency and launch_overhead, which keep their outputs to themselves: nothing.
//   planted_faults VARIANTS [NAME...]
// VARIANTS is kernel_variants.txt, the parameters that reach kernels which no self-test
// does; with names, of these benchmarks only. Further names: beside_vendors, Assay's own kernels
// of those that run cuBLASLt's or NCCL's; out_of_bounds and race, a kernel with that error, which
// compute-sanitizer must find. Exit code 77: no GPU, nothing tested.
#include "tests/gpu/planted_faults.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/registry.h"
#include "tests/gpu/kernel_variants.h"
#include "tests/gpu/plant.h"

namespace assay {
namespace {

// Correct outputs are verified this often: for several seeds, with several runs of each, from a
// stream and from a graph.
constexpr int kSeeds = 10;
constexpr int kRunsOfSeed = 5;

// Name of TestBesideVendors on the command line.
constexpr char kBesideVendors[] = "beside_vendors";
constexpr char kOutOfBounds[] = "out_of_bounds";
constexpr char kRace[] = "race";

int failures = 0;

// A case, as its GpuCase.
struct Prepared {
  std::unique_ptr<Case> owner;
  GpuCase* gpu = nullptr;
};

std::string TextOf(const std::string& name, const ParameterMap& given) {
  std::string text = name;
  for (const auto& [key, value] : given) text += " " + key + "=" + value;
  return text;
}

// Parameters `given` over those of the self-test. UNSUPPORTED if this GPU lacks what they need;
// INVALID_ARGUMENT if the parameters contradict each other.
Result<std::unique_ptr<Case>> PrepareAnyCase(const Benchmark& benchmark, const ParameterMap& given,
                                             uint64_t seed) {
  const BenchmarkInfo& info = benchmark.Info();
  RunContext context;
  context.seed = seed;
  ParameterMap wanted = info.selftest_parameters;
  for (const auto& [key, value] : given) wanted[key] = value;
  ASSAY_ASSIGN_OR_RETURN(context.parameters, CheckParameters(benchmark, wanted));
  if (const std::string why = benchmark.UnsupportedReason(); !why.empty()) return Unsupported(why);
  return benchmark.Prepare(context);
}

// UNSUPPORTED also if there is nothing to spoil here.
Result<Prepared> PrepareCase(const Benchmark& benchmark, const ParameterMap& given, uint64_t seed) {
  Prepared prepared;
  ASSAY_ASSIGN_OR_RETURN(prepared.owner, PrepareAnyCase(benchmark, given, seed));
  prepared.gpu = dynamic_cast<GpuCase*>(prepared.owner.get());
  if (prepared.gpu == nullptr) return Unsupported("it is no GpuCase, which tells its output");
  return prepared;
}

Status RunOnce(Case* one) {
  std::vector<double> seconds;
  return one->Run(1, one->BatchGranularity(), &seconds);
}

// Returns the aligned 8 bytes around `offset`, or fewer at the ends: whole elements of any type,
// and the last byte is the high one of an element.
struct Spot {
  int64_t begin = 0;
  int64_t bytes = 0;
};
Spot SpotAt(const OutputRange& output, int64_t offset) {
  const int64_t begin = offset / 8 * 8;
  return {begin, std::min<int64_t>(8, output.bytes - begin)};
}

// Checks that the output fails with `bytes` at `begin`.
void ExpectFound(const std::string& what, Case* one, const OutputRange& output, int64_t begin,
                 const std::vector<unsigned char>& bytes) {
  const Plant plant(static_cast<char*>(output.data) + begin, bytes);
  Expect(what, one->VerifyLast(), false, false);
}

// Flips the top exponent bit of one element.
void FlipAt(const std::string& what, Case* one, const OutputRange& output, int64_t offset) {
  const Spot spot = SpotAt(output, offset);
  std::vector<unsigned char> bytes(static_cast<size_t>(spot.bytes));
  cudaMemcpy(bytes.data(), static_cast<char*>(output.data) + spot.begin, bytes.size(),
             cudaMemcpyDefault);
  bytes.back() ^= 0x40;
  ExpectFound(what + ": bit flipped at byte " + std::to_string(spot.begin + spot.bytes - 1), one,
              output, spot.begin, bytes);
}

// Every fault in the output of one case.
void SpoilOutput(const std::string& what, GpuCase* gpu) {
  const OutputRange output = gpu->LastOutput();
  if (output.data == nullptr || output.bytes == 0) {
    std::printf("skip %s: it has no output in memory\n", what.c_str());
    return;
  }
  for (const int64_t offset : {int64_t{0}, output.bytes / 2, output.bytes - 1}) {
    FlipAt(what, gpu, output, offset);
  }
  const Spot middle = SpotAt(output, output.bytes / 2);
  ExpectFound(what + ": NaN in the middle", gpu, output, middle.begin,
              std::vector<unsigned char>(static_cast<size_t>(middle.bytes), 0xff));
  const int64_t tile = std::max<int64_t>(output.bytes / 16, 1);
  for (const int64_t begin : {int64_t{0}, (output.bytes - tile) / 2, output.bytes - tile}) {
    ExpectFound(what + ": tile unwritten from byte " + std::to_string(begin), gpu, output, begin,
                std::vector<unsigned char>(static_cast<size_t>(tile), 0xff));
  }
  Expect(what + ": restored", gpu->VerifyLast(), true, false);
}

// Returns whether there is such a case.
bool TestFaults(const Benchmark& benchmark, const ParameterMap& given) {
  const std::string what = TextOf(benchmark.Info().name, given);
  const auto begin = std::chrono::steady_clock::now();
  const int before = failures;
  auto prepared = PrepareCase(benchmark, given, 7);
  if (!prepared.ok()) {
    const bool expected =
        IsUnsupported(prepared.status()) || prepared.status().code() == Code::kInvalidArgument;
    if (!expected) Fail(what + ": " + prepared.status().ToString());
    if (expected) std::printf("skip %s: %s\n", what.c_str(), prepared.status().message().c_str());
    return false;
  }
  GpuCase* const gpu = prepared->gpu;
  Expect(what + ": before timing", gpu->Verify(), true, false);
  const Status run = RunOnce(gpu);
  if (!run.ok()) Fail(what + ": " + run.ToString());
  Expect(what + ": after timing", gpu->VerifyLast(), true, false);
  if (run.ok()) SpoilOutput(what, gpu);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%-4s %s (%.2f s)\n", failures == before ? "ok" : "FAIL", what.c_str(), took.count());
  return true;
}

// Flips a bit in the first, a middle and the last byte at each destination.
void TestTransferFaults(const Benchmark& benchmark, const ParameterMap& given) {
  const std::string what = TextOf(benchmark.Info().name, given);
  const int before = failures;
  const auto prepared = PrepareAnyCase(benchmark, given, 7);
  auto* const ends = prepared.ok() ? dynamic_cast<TransferEnds*>(prepared->get()) : nullptr;
  if (ends == nullptr) {
    Fail(what + ": " +
         (prepared.ok() ? "it does not tell its ends" : prepared.status().ToString()));
    return;
  }
  Case* const one = prepared->get();
  Expect(what + ": before timing", one->Verify(), true, false);
  const Status run = RunOnce(one);
  if (!run.ok()) Fail(what + ": " + run.ToString());
  Expect(what + ": after timing", one->VerifyLast(), true, false);
  const std::vector<OutputRange> outputs = ends->LastOutputs();
  for (size_t end = 0; end < outputs.size(); ++end) {
    const std::string which = what + ", end " + std::to_string(end);
    for (const int64_t offset : {int64_t{0}, outputs[end].bytes / 2, outputs[end].bytes - 1}) {
      FlipAt(which, one, outputs[end], offset);
    }
  }
  Expect(what + ": restored", one->VerifyLast(), true, false);
  if (outputs.empty()) Fail(what + ": nothing arrives anywhere");
  std::printf("%-4s %s\n", failures == before ? "ok" : "FAIL", what.c_str());
}

// Returns the self-test's parameters, then every other choice of every parameter, one at a time.
bool TestWords(const Benchmark& benchmark) {
  if (!TestFaults(benchmark, {})) return false;
  const BenchmarkInfo& info = benchmark.Info();
  for (const ParameterSpec& spec : info.parameters) {
    const auto own = info.selftest_parameters.find(spec.name);
    const std::string usual =
        own != info.selftest_parameters.end() ? own->second : spec.default_value.value_or("");
    for (const std::string& word : spec.choices) {
      if (word != usual) TestFaults(benchmark, {{spec.name, word}});
    }
  }
  return true;
}

bool HasGraphs(const BenchmarkInfo& info) {
  return std::any_of(info.parameters.begin(), info.parameters.end(),
                     [](const ParameterSpec& spec) { return spec.name == "launch"; });
}

// Runs each case from the stream and, if the benchmark supports it, from a graph.
void TestVariants(const Benchmark& benchmark, const std::vector<KernelVariant>& variants) {
  for (const auto& [name, given] : variants) {
    if (name != benchmark.Info().name) continue;
    TestFaults(benchmark, given);
    ParameterMap graph = given;
    graph["launch"] = "graph";
    if (HasGraphs(benchmark.Info())) TestFaults(benchmark, graph);
  }
}

// A right output never fails.
void TestFalseAlarms(const Benchmark& benchmark) {
  const BenchmarkInfo& info = benchmark.Info();
  const bool graphs = HasGraphs(info);
  const auto begin = std::chrono::steady_clock::now();
  const int before = failures;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    for (const char* launch : {"stream", "graph"}) {
      const ParameterMap given = graphs ? ParameterMap{{"launch", launch}} : ParameterMap();
      auto prepared = PrepareCase(benchmark, given, static_cast<uint64_t>(seed));
      if (!prepared.ok()) {
        Fail(info.name + ": " + prepared.status().ToString());
        return;
      }
      for (int i = 0; i < kRunsOfSeed; ++i) {
        const std::string what = info.name + ", seed " + std::to_string(seed);
        Expect(what + ": before timing", prepared->gpu->Verify(), true, false);
        const Status run = RunOnce(prepared->gpu);
        if (!run.ok()) Fail(what + ": " + run.ToString());
        Expect(what + ": after timing", prepared->gpu->VerifyLast(), true, false);
      }
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%-4s %s: %d runs, %d false alarms (%.2f s)\n", failures == before ? "ok" : "FAIL",
              info.name.c_str(), 2 * kSeeds * kRunsOfSeed, failures - before, took.count());
}

int Main(const std::string& path, const std::vector<std::string>& names) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // What came before a crash is read.
  if (const std::string why = WhyNoGpu(); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return 77;
  }
  const auto variants = ReadKernelVariants(path);
  if (!variants.ok()) {
    std::fprintf(stderr, "planted_faults: %s\n", variants.status().message().c_str());
    return 2;
  }
  for (const std::string& name : names) {
    if (name == kBesideVendors || name == kOutOfBounds || name == kRace) continue;
    if (BuiltinBenchmarks().Find(name).ok()) continue;
    std::fprintf(stderr, "planted_faults: no benchmark is named \"%s\"\n", name.c_str());
    return 2;
  }
  const auto chosen = [&](const std::string& name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  if (names.empty()) TestPieces();
  for (const std::string& name : names) {
    const Status ran = name == kOutOfBounds ? WriteOutOfBounds()
                       : name == kRace      ? RaceForSharedMemory()
                                            : Status::Ok();
    if (!ran.ok()) Fail(name + ": " + ran.ToString());
  }
  if (chosen(kBesideVendors)) TestBesideVendors();
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    const BenchmarkInfo& info = benchmark->Info();
    if (info.resource != Resource::kGpu || info.collective || !chosen(info.name)) continue;
    if (TestWords(*benchmark)) {
      TestFalseAlarms(*benchmark);
      TestVariants(*benchmark, *variants);
    }
    if (info.name == "host_transfer") {
      for (const char* direction : {"h2d", "d2h", "bidirectional"}) {
        for (const char* memory : {"pinned", "pageable"}) {
          TestTransferFaults(*benchmark, {{"direction", direction}, {"memory", memory}});
        }
      }
    }
    // One element of 2^28.
    for (const char* launch : {"stream", "graph"}) {
      if (info.name == "vector_add") {
        TestFaults(*benchmark, {{"elements", "268435456"}, {"launch", launch}});
      }
      if (info.name == "memory_bandwidth") {
        TestFaults(*benchmark, {{"op", "copy"}, {"bytes", "1073741824"}, {"launch", launch}});
      }
    }
  }
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace

void Fail(const std::string& what) {
  ++failures;
  std::printf("FAIL %s\n", what.c_str());
}

void Expect(const std::string& what, const Result<Verdict>& verdict, bool passes, bool loud) {
  const bool as_expected = verdict.ok() && verdict->passed == passes &&
                           verdict->detail.empty() == passes && !verdict->reference.empty();
  if (!as_expected) ++failures;
  if (as_expected && !loud) return;
  std::printf("%-4s %-58s %s\n", as_expected ? "ok" : "FAIL", what.c_str(),
              !verdict.ok() ? verdict.status().ToString().c_str() : verdict->detail.c_str());
}

}  // namespace assay

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: planted_faults VARIANTS [NAME...]\n");
    return 2;
  }
  return assay::Main(argv[1], std::vector<std::string>(argv + 2, argv + argc));
}
