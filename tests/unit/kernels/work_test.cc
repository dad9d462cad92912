// What an iteration of every benchmark of this build does, at sizes that are worked out by hand
// from its definition: the counts that rates, intensities and predictions are made of.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/registry.h"

namespace assay {
namespace {

// As Work.
struct Counts {
  double flops = 0;
  const char* peak = "";
  double bytes = 0;
  const char* traffic = "copy";
  double link_bytes = 0;
  double payload_bytes = 0;
  double operations = 0;
  double sm_amount = 0;
  const char* sm_rate = "";
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

// m = 3, n = 5, k = 7: A has 21 elements, B 35, C 15. STREAM's loops have 1000 elements of
// fp64 in each of two arrays (copy, scale) or three.
std::vector<Row> CpuRows() {
  const auto gemm = [](const char* dtype, double element_bytes, const char* peak) {
    return Row{"cpu_gemm",
               {{"m", "3"}, {"n", "5"}, {"k", "7"}, {"dtype", dtype}},
               {.flops = 2 * 3 * 5 * 7, .peak = peak, .bytes = (21 + 35 + 15) * element_bytes}};
  };
  const auto stream = [](const char* op, double flops, double bytes) {
    return Row{"cpu_memory_bandwidth",
               {{"op", op}, {"bytes", "8000"}},
               {.flops = flops, .peak = "fp64_vector", .bytes = bytes, .payload_bytes = 8000}};
  };
  return {gemm("fp32", 4, "fp32"),
          gemm("fp64", 8, "fp64_vector"),
          stream("copy", 0, 16000),
          stream("scale", 1000, 16000),
          stream("add", 1000, 24000),
          stream("triad", 2000, 24000),
          {"cpu_vector_sum",
           {{"elements", "1000"}},
           {.flops = 1000, .peak = "fp64_vector", .bytes = 8000, .traffic = "read"}}};
}

// A ring over 4 ranks sends 3/4 of the array on to reduce it and as much again to spread it.
std::vector<Row> NetworkRows() {
  return {{"tcp_all_reduce",
           {{"ranks", "4"}, {"bytes", "4096"}},
           {.link_bytes = 2 * 3 * 1024, .payload_bytes = 4096}},
          {"tcp_bandwidth", {{"bytes", "1000"}}, {.link_bytes = 1000, .payload_bytes = 1000}},
          {"tcp_bandwidth",
           {{"bytes", "1000"}, {"direction", "bidirectional"}},
           {.link_bytes = 1000, .payload_bytes = 2000}},
          {"tcp_latency", {{"bytes", "64"}}, {.link_bytes = 64, .payload_bytes = 64}}};
}

// A product of 16 x 48 and 48 x 32 elements, into 16 x 32: 768, 1536 and 512 of them.
std::vector<Row> GemmRows() {
  const auto gemm = [](const char* dtype, double bytes, const char* peak) {
    return Row{
        "gemm",
        {{"m", "16"}, {"n", "32"}, {"k", "48"}, {"dtype", dtype}, {"layout", "nt"}},
        {.flops = 2 * 16 * 32 * 48, .peak = peak, .bytes = bytes, .fixed_microseconds = kLaunch}};
  };
  return {
      gemm("bf16", (768 + 1536 + 512) * 2, "bf16"),
      gemm("fp16", (768 + 1536 + 512) * 2, "bf16"),
      gemm("fp32", (768 + 1536 + 512) * 4, "fp32"),
      gemm("tf32", (768 + 1536 + 512) * 4, "tf32"),
      gemm("fp64", (768 + 1536 + 512) * 8, "fp64_tensor"),
      // Products of 8 bits are written in 16 (fp8) or 32 (int8).
      gemm("fp8_e4m3", (768 + 1536) * 1 + 512 * 2, "fp8"),
      gemm("fp8_e5m2", (768 + 1536) * 1 + 512 * 2, "fp8"),
      gemm("int8", (768 + 1536) * 1 + 512 * 4, "int8"),
      {"gemm",
       {{"m", "16"}, {"n", "32"}, {"k", "48"}, {"batch", "3"}, {"launch", "graph"}},
       {.flops = 3 * 2 * 16 * 32 * 48,
        .peak = "bf16",
        .bytes = 3 * (768 + 1536 + 512) * 2,
        .fixed_microseconds = kGraph}},
      // One row: the matrix is nearly all that is moved.
      {"gemm",
       {{"m", "1"}, {"n", "64"}, {"k", "64"}},
       {.flops = 2 * 64 * 64,
        .peak = "bf16",
        .bytes = (64 + 64 * 64 + 64) * 2,
        .traffic = "read",
        .fixed_microseconds = kLaunch}},
      {"sustained",
       {{"n", "64"}},
       {.flops = 2 * 64 * 64 * 64,
        .peak = "bf16",
        .bytes = 3 * 64 * 64 * 2,
        .fixed_microseconds = kLaunch}},
  };
}

std::vector<Row> MatmulRows() {
  const auto matmul = [](const char* name, double element_bytes, const char* peak) {
    return Row{name,
               {{"n", "64"}},
               {.flops = 2 * 64 * 64 * 64,
                .peak = peak,
                .bytes = 3 * 64 * 64 * element_bytes,
                .fixed_microseconds = kLaunch}};
  };
  return {matmul("matmul_naive", 4, "fp32"),
          matmul("matmul_tiled", 4, "fp32"),
          matmul("matmul_register", 4, "fp32"),
          matmul("matmul_mma", 2, "bf16"),
          matmul("matmul_wgmma", 2, "bf16"),
          {"matmul_naive",
           {{"m", "3"}, {"n", "64"}, {"k", "8"}},
           {.flops = 2 * 3 * 64 * 8,
            .peak = "fp32",
            .bytes = (3 * 8 + 8 * 64 + 3 * 64) * 4,
            .fixed_microseconds = kLaunch}}};
}

// Few rows: x has 2 x 128 elements, W 64 x 128, y 2 x 64.
std::vector<Row> GemvRows() {
  const auto gemv = [](const char* dtype, double element_bytes, const char* peak) {
    return Row{"gemv",
               {{"m", "2"}, {"n", "64"}, {"k", "128"}, {"dtype", dtype}},
               {.flops = 2 * 2 * 64 * 128,
                .peak = peak,
                .bytes = (2 * 128 + 64 * 128 + 2 * 64) * element_bytes,
                .traffic = "read",
                .payload_bytes = 64 * 128 * element_bytes,
                .fixed_microseconds = kLaunch}};
  };
  // Half a byte a weight, and for each 64 of a column's 128 a scale and a zero point of 16 bits;
  // x and y have 16 bits an element.
  const auto int4 = [](const char* variant, double more_bytes, double microseconds) {
    return Row{"int4_gemm",
               {{"m", "3"}, {"n", "64"}, {"k", "128"}, {"group", "64"}, {"variant", variant}},
               {.flops = 2 * 3 * 64 * 128,
                .peak = "bf16",
                .bytes = 64 * 128 / 2 + 64 * 2 * 4 + (3 * 128 + 3 * 64) * 2 + more_bytes,
                .traffic = "read",
                .payload_bytes = 64 * 128 / 2 + 64 * 2 * 4,
                .fixed_microseconds = microseconds}};
  };
  return {gemv("fp16", 2, "bf16"), gemv("fp32", 4, "fp32"), int4("fused", 0, kLaunch),
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
  return {
      attention(
          "flash", "fp32", "false",
          {.flops = kFlops, .peak = "fp32", .bytes = kElements * 4, .fixed_microseconds = kLaunch}),
      attention(
          "flash_mma", "bf16", "false",
          {.flops = kFlops, .peak = "bf16", .bytes = kElements * 2, .fixed_microseconds = kLaunch}),
      attention("flash_wgmma", "fp16", "true",
                {.flops = kFlops / 2,
                 .peak = "bf16",
                 .bytes = kElements * 2,
                 .fixed_microseconds = kLaunch}),
      attention("naive", "fp32", "false",
                {.flops = kFlops,
                 .peak = "fp32",
                 .bytes = kElements * 4 + kScores,
                 .fixed_microseconds = 3 * kLaunch})};
}

// 1000 elements of fp32 an array.
std::vector<Row> StreamRows() {
  const auto stream = [](const char* op, double flops, double bytes, const char* traffic) {
    return Row{"memory_bandwidth",
               {{"op", op}, {"bytes", "4000"}},
               {.flops = flops,
                .peak = "fp32",
                .bytes = bytes,
                .traffic = traffic,
                .payload_bytes = 4000,
                .fixed_microseconds = kLaunch}};
  };
  const auto one_a_word = [](const char* name, const char* dtype, double bytes) {
    return Row{name,
               {{"elements", "1000"}, {"dtype", dtype}},
               {.flops = 1000, .peak = "fp32", .bytes = bytes, .fixed_microseconds = kLaunch}};
  };
  return {stream("copy", 0, 8000, "copy"),      stream("scale", 1000, 8000, "copy"),
          stream("add", 1000, 12000, "copy"),   stream("triad", 2000, 12000, "copy"),
          stream("read", 1000, 4000, "read"),   stream("write", 0, 4000, "write"),
          stream("memset", 0, 4000, "write"),   one_a_word("vector_add", "fp32", 3 * 4000),
          one_a_word("relu", "fp32", 2 * 4000), one_a_word("elementwise_mul", "bf16", 3 * 2000)};
}

// 10 rows of 100 elements of fp32, read and written once, whatever the passes; with a scale and
// a shift a column, or a scale alone.
std::vector<Row> NormRows() {
  const auto rows = [](const char* name, double flops, double weights) {
    return Row{name,
               {{"rows", "10"}, {"columns", "100"}, {"dtype", "fp32"}},
               {.flops = flops * 1000,
                .peak = "fp32",
                .bytes = (2 * 1000 + weights * 100) * 4,
                .fixed_microseconds = kLaunch}};
  };
  Row unfused = rows("softmax", 5, 0);
  unfused.parameters["variant"] = "unfused";
  unfused.counts.fixed_microseconds = 5 * kLaunch;
  return {rows("softmax", 5, 0), unfused, rows("layernorm", 8, 2), rows("rmsnorm", 4, 1)};
}

std::vector<Row> AccessRows() {
  // 1024 words are read, among as many as their sectors of 8 hold, and 1024 written.
  const auto coalescing = [](const char* stride, double words_moved, const char* traffic) {
    return Row{"coalescing",
               {{"elements", "1024"}, {"stride", stride}},
               {.bytes = 4 * 1024 * (words_moved + 1),
                .traffic = traffic,
                .payload_bytes = 2 * 4 * 1024,
                .fixed_microseconds = kLaunch}};
  };
  // A warp keeps its 32 lanes for every branch that one of them takes.
  const auto divergence = [](const char* threads, double operations, double warp_branches) {
    return Row{"divergence",
               {{"branches", "3"}, {"threads", threads}},
               {.operations = operations,
                .sm_amount = 1024 * 32 * warp_branches,
                .sm_rate = "int32_mad",
                .fixed_microseconds = kLaunch}};
  };
  return {
      {"pointer_chase", {}, {.operations = 16384}},
      coalescing("1", 1, "copy"),
      coalescing("2", 2, "copy"),
      coalescing("8", 8, "read"),
      coalescing("32", 8, "read"),
      // 8 warps, 256 rounds, 16 loads each, of 3 cycles in which 32 banks could serve 4 bytes.
      {"bank_conflict",
       {{"ways", "3"}},
       {.operations = 8 * 256 * 16,
        .sm_amount = 8 * 256 * 16 * 3 * 128,
        .sm_rate = "shared_bytes",
        .sm_count = 1,
        .fixed_microseconds = kLaunch}},
      // 31 warps and 8 lanes of one; a warp and two lanes.
      divergence("1000", 1024 * 1000, 31 * 3 + 3),
      divergence("34", 1024 * 34, 3 + 2),
      // Rows of 128 bytes.
      {"occupancy",
       {{"bytes", "1048576"}},
       {.bytes = 1048576, .traffic = "read", .operations = 8192, .fixed_microseconds = kLaunch}},
      {"launch_overhead",
       {{"launches", "10"}},
       {.operations = 10, .fixed_microseconds = 10 * kLaunch}},
      {"launch_overhead",
       {{"launches", "10"}, {"launch", "graph"}},
       {.operations = 10, .fixed_microseconds = 10 * kGraph + 0.8}},
  };
}

// As often as 8 GiB need, the last time in full.
std::vector<Row> CacheRows() {
  const auto own = [](const char* level) {
    return Row{"cache_bandwidth",
               {{"level", level}, {"bytes", "65536"}},
               {.traffic = "read",
                .payload_bytes = 8 * kGiB,
                .sm_amount = 8 * kGiB,
                .sm_rate = "shared_bytes",
                .fixed_microseconds = kLaunch}};
  };
  return {own("l1"),
          own("shared"),
          {"cache_bandwidth",
           {{"level", "l2"}, {"bytes", "1000016"}},
           {.traffic = "read", .payload_bytes = 8590 * 1000016.0, .fixed_microseconds = kLaunch}},
          {"cache_bandwidth",
           {{"level", "hbm"}, {"bytes", "5GiB"}},
           {.bytes = 10 * kGiB,
            .traffic = "read",
            .payload_bytes = 10 * kGiB,
            .fixed_microseconds = kLaunch}}};
}

std::vector<Row> TransferRows() {
  return {{"host_transfer", {{"bytes", "1000"}}, {.link_bytes = 1000, .payload_bytes = 1000}},
          {"host_transfer",
           {{"bytes", "1000"}, {"direction", "bidirectional"}},
           {.link_bytes = 1000, .payload_bytes = 2000}},
          {"host_latency", {}, {.operations = 4096}},
          {"peer_transfer",
           {{"ranks", "2"}, {"bytes", "1000"}},
           {.link_bytes = 1000, .payload_bytes = 1000, .fixed_microseconds = kLaunch}},
          {"peer_transfer",
           {{"ranks", "2"}, {"bytes", "1000"}, {"direction", "bidirectional"}},
           {.link_bytes = 1000, .payload_bytes = 2000, .fixed_microseconds = kLaunch}},
          {"peer_latency", {{"ranks", "2"}}, {.operations = 4096}}};
}

// 4 ranks, 4096 bytes: quarters of 1024. What the busiest link carries, and NCCL's 6.6 us with
// 0.6 us for each message that waits for another.
std::vector<Row> CollectiveRows() {
  const auto collective = [](const char* name, double link_bytes, double microseconds) {
    return Row{
        name,
        {{"ranks", "4"}, {"bytes", "4096"}},
        {.link_bytes = link_bytes, .payload_bytes = 4096, .fixed_microseconds = microseconds}};
  };
  return {
      collective("all_reduce", 2 * 3 * 1024, 6.6 + 6 * 0.6),
      collective("all_gather", 3 * 1024, 6.6 + 3 * 0.6),
      collective("reduce_scatter", 3 * 1024, 6.6 + 3 * 0.6),
      collective("broadcast", 4096, 6.6 + 3 * 0.6),
      collective("reduce", 4096, 6.6 + 3 * 0.6),
      collective("all_to_all", 3 * 1024, 6.6 + 0.6),
      collective("gather", 3 * 1024, 6.6 + 0.6),
      collective("scatter", 3 * 1024, 6.6 + 0.6),
      collective("send_recv", 4096, 6.6 + 0.6),
      // Three at once; shares of 1000 / 4 bytes are cut to 240, so that 960 count.
      {"all_gather",
       {{"ranks", "4"}, {"bytes", "1000"}, {"aggregate", "3"}},
       {.link_bytes = 3 * 3 * 240, .payload_bytes = 3 * 960, .fixed_microseconds = 6.6 + 3 * 0.6}},
      collective("ring_all_reduce", 2 * 3 * 1024, 6 * 20),
      // How much an iteration has is found out on the GPU.
      {"overlap", {{"ranks", "4"}}, {}}};
}

std::vector<Row> AllRows() {
  std::vector<Row> all;
  for (const auto rows :
       {CpuRows, NetworkRows, GemmRows, MatmulRows, GemvRows, AttentionRows, StreamRows, NormRows,
        AccessRows, CacheRows, TransferRows, CollectiveRows}) {
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
  EXPECT_EQ(counts.flops > 0 ? work->peak : "", counts.flops > 0 ? counts.peak : "");
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
    EXPECT_EQ(here.count(benchmark->Info().name), 1u)
        << benchmark->Info().name << " has no row: work out what an iteration does at a small size";
  }
}

}  // namespace
}  // namespace assay
