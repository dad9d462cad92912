// What ties the parameters of a benchmark together, from the build's declarations to what
// assay-runner says of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "runner/exit_codes.h"
#include "tests/unit/runner/invoke_runner.h"

namespace assay {
namespace {

using testing::HasSubstr;

// No GPU is needed for it, nor the other ranks.
TEST(RunnerTies, ABrokenOneIsRefusedByRunAndCheck) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"tcp_all_reduce", "bytes=6"}, "bytes: is 6; it must be a multiple of 4"},
      {{"all_reduce", "ranks=2", "bytes=12", "dtype=fp64"},
       "bytes: is 12; it must be a multiple of 8 with dtype fp64"},
      {{"ring_all_reduce", "ranks=2", "bytes=6"},
       "bytes: is 6; it must be a multiple of 4 with dtype fp32"},
      {{"overlap", "ranks=2", "bytes=7"},
       "bytes: is 7; it must be a multiple of 2 with collective all_reduce"},
      {{"all_gather", "ranks=3", "nodes=2"},
       "ranks: is 3; it must be a multiple of nodes, which is 2"},
      {{"broadcast", "ranks=2", "root=5"},
       "root: is 5; it must be below ranks, which is 2: 0 to 1"},
      {{"peer_transfer", "to=7"}, "to: is 7; it must be below ranks, which is 2: 0 to 1"},
      {{"peer_latency", "from=2"}, "from: is 2; it must be below ranks, which is 2: 0 to 1"},
      {{"pointer_chase", "stride=24", "bytes=64"},
       "bytes: is 64; it must be a multiple of stride, which is 24"},
      {{"int4_gemm", "k=64"}, "k: is 64; it must be a multiple of 128 with group 128"},
      {{"matmul_mma", "n=12"}, "n: is 12; it must be a multiple of 8"},
      {{"gemm", "m=8", "n=8", "k=8", "dtype=int8"},
       "layout: is nn; it must be nt with dtype int8: tensor cores take 8-bit A and B along k"},
      {{"gemm", "m=8", "n=16", "k=8", "dtype=fp8_e5m2", "layout=nt"},
       "k: is 8; it must be a multiple of 16 with dtype fp8_e5m2"},
      {{"gemm", "m=8", "n=8", "k=8", "accumulate=fast"},
       "dtype: is bf16; it must be fp8_e4m3 or fp8_e5m2 with accumulate fast"},
      {{"overlap", "ranks=2", "n=6", "dtype=int8"},
       "n: is 6; it must be a multiple of 4 with dtype int8"},
      {{"overlap", "ranks=4", "bytes=62", "collective=all_gather"},
       "bytes: is 62; it must be at least 64 (16 times ranks) with collective all_gather"},
      {{"all_gather", "ranks=2", "bytes=31"},
       "bytes: is 31; it must be at least 32 (16 times ranks)"},
      {{"all_to_all", "ranks=2", "in_place=true"},
       "in_place: is true; it must be false: NCCL sends a rank's shares while others' arrive"},
      {{"all_reduce", "ranks=6", "op=avg", "dtype=fp8_e4m3"},
       "ranks: is 6; it must be 2, 4, 8, 16, 32, 64, 128, 256 or 512 with dtype fp8_e4m3 and op "
       "avg: else the mean cannot be verified; op sum can"},
      {{"reduce", "ranks=64", "op=avg", "dtype=uint8"},
       "ranks: is 64; it must be at most 63 with dtype uint8 and op avg: else the mean cannot be "
       "verified; op sum can"},
      {{"attention", "variant=flash"}, "dtype: is bf16; it must be fp32 with variant flash"},
      {{"attention", "dtype=fp32"},
       "dtype: is fp32; it must be bf16 or fp16 with variant flash_mma"},
      {{"attention", "d=96"}, "d: is 96; it must be a multiple of 64"},
      {{"pointer_chase", "space=shared", "bytes=4096", "level=l1"},
       "level: is l1; it must be none with space shared: shared memory is one level"},
      {{"softmax", "variant=warp", "columns=33"},
       "columns: is 33; it must be at most 32 with variant warp: a lane each"},
      {{"softmax", "dtype=fp16", "columns=65537"},
       "columns: is 65537; it must be at most 65536 with dtype fp16: 1 / columns must be well "
       "above its smallest step, 2^-24"},
      {{"layernorm", "rows=68719476736", "columns=17"},
       "rows: is 68719476736; times columns it must be at most 1099511627776"},
      {{"attention", "n=1048576", "b=1", "h=1"},
       "n: is 1048576; times b, h, n and d it must be at most 100000000000000 with causal false: "
       "more than 4e14 FLOPs are too many to verify"},
      {{"int4_gemm", "m=65536", "n=65536", "k=65536"},
       "k: is 65536; times m and n it must be at most 200000000000000: more than 4e14 FLOPs, 2 m n "
       "k, are too many to verify"},
      {{"pointer_chase", "space=shared"},
       "bytes: is 1073741824; it must be at most 262144 with space shared: the most that a "
       "multiprocessor of any GPU has of L1 and shared memory"},
      {{"cache_bandwidth", "level=shared", "bytes=262160"},
       "bytes: is 262160; it must be at most 262144 with level shared: the most that a "
       "multiprocessor of any GPU has of L1 and shared memory"}};
  for (const auto& [arguments, text] : wrong) {
    for (const char* command : {"run", "check"}) {
      std::vector<std::string> all = {command};
      all.insert(all.end(), arguments.begin(), arguments.end());
      const CommandOutput output = Invoke(all);
      if (output.output.find("no benchmark is called") != std::string::npos) continue;
      EXPECT_EQ(output.exit.code, kExitUsage) << output.output;
      EXPECT_EQ(output.output, "assay-runner: invalid parameters: " + text + "\n");
    }
  }
}

TEST(RunnerTies, AListTellsThem) {
  EXPECT_THAT(Invoke({"list", "tcp_all_reduce"}).output,
              HasSubstr("; a size from 4B to 4GiB, a multiple of 4; "));
  const CommandOutput reduce = Invoke({"list", "reduce"});
  if (reduce.exit.code == kExitUsage) return;  // Not of this build.
  EXPECT_THAT(reduce.output, HasSubstr("from 0 to 4095, below ranks; "));
  EXPECT_THAT(reduce.output, HasSubstr("from 2 to 4096, a multiple of nodes; "));
  EXPECT_THAT(reduce.output, HasSubstr("from 1B to 8GiB, a multiple of what dtype asks for; "));
  EXPECT_THAT(
      reduce.output,
      HasSubstr("\nvalues that go together\n"
                "  ranks        2, 4, 8, 16, 32, 64, 128, 256 or 512 with dtype fp8_e4m3 or "
                "fp8_e5m2 and op avg: else the mean cannot be verified; op sum can\n"));
}

}  // namespace
}  // namespace assay
