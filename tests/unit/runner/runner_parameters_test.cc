// Tests that assay-runner refuses invalid parameters. The examples of each benchmark are in its
// declaration.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "runner/exit_codes.h"
#include "tests/unit/runner/invoke_runner.h"
#include "tests/wording.h"

namespace assay {
namespace {

// The runner refuses a case without a GPU and without the other ranks.
TEST(RunnerParameters, EveryCommandRefusesInvalidCases) {
  const std::vector<std::pair<const char*, std::vector<std::string>>> cases = {
      {"runner/multiple", {"tcp_all_reduce", "bytes=6"}},
      {"runner/constraint", {"softmax", "variant=warp", "columns=33"}},
      {"runner/validate", {"layernorm", "rows=68719476736", "columns=17"}}};
  for (const auto& [key, arguments] : cases) {
    for (const char* command : {"run", "selftest", "check"}) {
      std::vector<std::string> all = {command};
      all.insert(all.end(), arguments.begin(), arguments.end());
      const CommandOutput output = Invoke(all);
      EXPECT_EQ(output.exit.code, kExitUsage) << output.output;
      EXPECT_WORDING(key, output.output);
    }
  }
}

TEST(RunnerParameters, ListDescribesConstraints) {
  const std::string text = Invoke({"list", "softmax"}).output;
  const size_t begin = text.find("parameters\n");
  ASSERT_NE(begin, std::string::npos) << text;
  EXPECT_WORDING("runner/list-parameters", text.substr(begin, text.find("\nmetrics") - begin));
}

}  // namespace
}  // namespace assay
