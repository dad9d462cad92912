// What an iteration of every benchmark of this build does, at sizes that are worked out by hand
// from its definition: the counts that rates, intensities and predictions are made of.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/declaration.h"
#include "kernels/registry.h"

namespace assay {
namespace {

// As Work.
struct Counts {
  double flops = 0;
  Peak peak = Peak::kNone;
  double bytes = 0;
  Traffic traffic = Traffic::kCopy;
  double link_bytes = 0;
  double payload_bytes = 0;
  double operations = 0;
  double sm_amount = 0;
  SmRate sm_rate = SmRate::kNone;
  int sm_count = 0;
  double fixed_microseconds = 0;
};

struct Row {
  const char* benchmark;
  ParameterMap parameters;  // The rest at their defaults.
  Counts counts;
};

constexpr double kGiB = 1024.0 * 1024 * 1024;

// Of a kernel from a stream, and in a graph.
constexpr double kLaunch = 2.5;
constexpr double kGraph = 0.6;

std::vector<Row> MatmulRows() {
  const auto matmul = [](const char* name, double element_bytes, Peak peak) {
    return Row{name,
               {{"n", "64"}},
               {.flops = 2 * 64 * 64 * 64,
                .peak = peak,
                .bytes = 3 * 64 * 64 * element_bytes,
                .fixed_microseconds = kLaunch}};
  };
  return {matmul("matmul_naive", 4, Peak::kFp32),
          matmul("matmul_tiled", 4, Peak::kFp32),
          matmul("matmul_register", 4, Peak::kFp32),
          matmul("matmul_mma", 2, Peak::kBf16),
          matmul("matmul_wgmma", 2, Peak::kBf16),
          {"matmul_naive",
           {{"m", "3"}, {"n", "64"}, {"k", "8"}},
           {.flops = 2 * 3 * 64 * 8,
            .peak = Peak::kFp32,
            .bytes = (3 * 8 + 8 * 64 + 3 * 64) * 4,
            .fixed_microseconds = kLaunch}}};
}

// Few rows: x has 2 x 128 elements, W 64 x 128, y 2 x 64.
std::vector<Row> GemvRows() {
  const auto gemv = [](const char* dtype, double element_bytes, Peak peak) {
    return Row{"gemv",
               {{"m", "2"}, {"n", "64"}, {"k", "128"}, {"dtype", dtype}},
               {.flops = 2 * 2 * 64 * 128,
                .peak = peak,
                .bytes = (2 * 128 + 64 * 128 + 2 * 64) * element_bytes,
                .traffic = Traffic::kRead,
                .payload_bytes = 64 * 128 * element_bytes,
                .fixed_microseconds = kLaunch}};
  };
  // Half a byte a weight, and for each 64 of a column's 128 a scale and a zero point of 16 bits;
  // x and y have 16 bits an element.
  const auto int4 = [](const char* variant, double more_bytes, double microseconds) {
    return Row{"int4_gemm",
               {{"m", "3"}, {"n", "64"}, {"k", "128"}, {"group", "64"}, {"variant", variant}},
               {.flops = 2 * 3 * 64 * 128,
                .peak = Peak::kBf16,
                .bytes = 64 * 128 / 2 + 64 * 2 * 4 + (3 * 128 + 3 * 64) * 2 + more_bytes,
                .traffic = Traffic::kRead,
                .payload_bytes = 64 * 128 / 2 + 64 * 2 * 4,
                .fixed_microseconds = microseconds}};
  };
  return {gemv("fp16", 2, Peak::kBf16), gemv("fp32", 4, Peak::kFp32), int4("fused", 0, kLaunch),
          // 16 bits a weight are written and read again, by a kernel more.
          int4("naive", 2 * 64 * 128 * 2, 2 * kLaunch)};
}

// Two batches of three heads, 256 queries and keys of 64 elements: Q K' and P V have 2 FLOPs for
// every query, key and element; Q, K, V and O pass through memory once.
std::vector<Row> AttentionRows() {
  constexpr double kFlops = 2 * (2.0 * 6 * 256 * 256 * 64);
  constexpr double kElements = 4.0 * 6 * 256 * 64;
  // S in fp32: written, read, written and read.
  constexpr double kScores = 4 * (6.0 * 256 * 256 * 4);
  const auto attention = [](const char* variant, const char* dtype, const char* causal,
                            Counts counts) {
    return Row{"attention",
               {{"variant", variant},
                {"dtype", dtype},
                {"causal", causal},
                {"b", "2"},
                {"h", "3"},
                {"n", "256"},
                {"d", "64"}},
               counts};
  };
  return {attention("flash", "fp32", "false",
                    {.flops = kFlops,
                     .peak = Peak::kFp32,
                     .bytes = kElements * 4,
                     .fixed_microseconds = kLaunch}),
          attention("flash_mma", "bf16", "false",
                    {.flops = kFlops,
                     .peak = Peak::kBf16,
                     .bytes = kElements * 2,
                     .fixed_microseconds = kLaunch}),
          attention("flash_wgmma", "fp16", "true",
                    {.flops = kFlops / 2,
                     .peak = Peak::kBf16,
                     .bytes = kElements * 2,
                     .fixed_microseconds = kLaunch}),
          attention("naive", "fp32", "false",
                    {.flops = kFlops,
                     .peak = Peak::kFp32,
                     .bytes = kElements * 4 + kScores,
                     .fixed_microseconds = 3 * kLaunch})};
}

std::vector<Row> AllRows() {
  std::vector<Row> all;
  for (const auto rows : {MatmulRows, GemvRows, AttentionRows}) {
    for (Row& row : rows()) all.push_back(std::move(row));
  }
  return all;
}

void ExpectCounts(const Row& row, const Benchmark& benchmark) {
  const BenchmarkInfo& info = benchmark.Info();
  const auto parameters = CanonicalParameters(info.parameters, row.parameters);
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  const int ranks = info.collective ? static_cast<int>(Integer(*parameters, "ranks")) : 1;
  const auto work = benchmark.WorkOf(*parameters, ranks);
  ASSERT_TRUE(work.ok()) << work.status();
  const Counts& counts = row.counts;
  EXPECT_DOUBLE_EQ(work->flops, counts.flops);
  EXPECT_DOUBLE_EQ(work->bytes, counts.bytes);
  EXPECT_DOUBLE_EQ(work->link_bytes, counts.link_bytes);
  EXPECT_DOUBLE_EQ(work->payload_bytes, counts.payload_bytes);
  EXPECT_DOUBLE_EQ(work->operations, counts.operations);
  EXPECT_DOUBLE_EQ(work->fixed_seconds * 1e6, counts.fixed_microseconds);
  EXPECT_DOUBLE_EQ(work->sm_amount, counts.sm_amount);
  EXPECT_EQ(work->sm_rate, counts.sm_rate);
  EXPECT_EQ(work->sm_count, counts.sm_count);
  EXPECT_EQ(work->traffic, counts.traffic);
  if (counts.flops > 0) EXPECT_EQ(work->peak, counts.peak);
}

TEST(Work, IsWhatTheDefinitionsSay) {
  for (const Row& row : AllRows()) {
    std::string of = row.benchmark;
    for (const auto& [name, value] : row.parameters) of.append(" ").append(name + "=" + value);
    SCOPED_TRACE(of);
    const auto benchmark = BuiltinBenchmarks().Find(row.benchmark);
    // A build without CUDA or NCCL lacks those that need them.
    if (benchmark.ok()) ExpectCounts(row, **benchmark);
  }
}

TEST(Work, OfEveryBenchmarkIsHere) {
  std::set<std::string> here;
  for (const Row& row : AllRows()) here.insert(row.benchmark);
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    // Examples of these are in their declarations.
    if (dynamic_cast<const DeclaredBenchmark*>(benchmark.get()) != nullptr) continue;
    EXPECT_EQ(here.count(benchmark->Info().name), 1u)
        << benchmark->Info().name << " has no row: work out what an iteration does at a small size";
  }
}

}  // namespace
}  // namespace assay
