// What ties the parameters of a benchmark together, from the build's declarations to what
// assay-runner says of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kernels/runner/exit_codes.h"
#include "tests/unit/kernels/invoke_runner.h"

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
      {{"matmul_mma", "n=12"}, "n: is 12; it must be a multiple of 8"}};
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
}

}  // namespace
}  // namespace assay
