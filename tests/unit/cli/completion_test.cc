#include "cli/commands/completion.h"

#include <gmock/gmock.h>

#include <fstream>

#include "cli/commands/app.h"
#include "common/subprocess.h"
#include "tests/temporary_folder.h"

namespace assay::cli {
namespace {

using ::testing::HasSubstr;

std::string Script(const std::string& shell) {
  Context context;
  return CompletionScript(*MakeApp(context), shell);
}

// Returns bash's completions of the last of `words`.
std::string BashOffers(const std::string& words) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/completion";
  std::ofstream(path) << Script("bash") << "COMP_WORDS=(" << words
                      << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_assay\n"
                      << "echo \"${COMPREPLY[*]}\"\n";
  SubprocessOptions options;
  options.argv = {"bash", path};
  const Result<CommandOutput> output = RunCommand(options, std::chrono::seconds(20));
  return output.ok() ? output->output : output.status().ToString();
}

TEST(CompletionTest, Bash_CompletesCommandsAndOptions) {
  EXPECT_EQ(BashOffers("assay ca"), "campaign\n");
  EXPECT_EQ(BashOffers("assay campaign ''"), "submit list show watch cancel\n");
  EXPECT_EQ(BashOffers("assay campaign submit --dr"), "--dry-run\n");
  EXPECT_EQ(BashOffers("assay results -o ''"), "table json csv\n");
  EXPECT_EQ(BashOffers("assay node list --coord"), "--coordinator\n");
}

TEST(CompletionTest, EveryShell_HasEveryCommand) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = Script(shell);
    for (const char* command : {"up", "campaign", "submit", "node", "remove", "benchmark", "run",
                                "results", "completion"}) {
      EXPECT_THAT(script, HasSubstr(command)) << shell;
    }
  }
  EXPECT_EQ(Script("tcsh"), "");
}

}  // namespace
}  // namespace assay::cli
