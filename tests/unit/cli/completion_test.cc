#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/commands/app.h"
#include "common/subprocess.h"
#include "tests/temporary_folder.h"
#include "tests/unit/cli/fake_coordinator.h"

namespace assay::cli {
namespace {

// Returns the words that complete the last of `words`.
std::vector<std::string> Offers(const std::vector<std::string>& words) {
  Context context;
  std::istringstream lines(Completions(*MakeApp(context), words));
  std::vector<std::string> offers;
  for (std::string line; std::getline(lines, line);) {
    offers.push_back(line.substr(0, line.find('\t')));
  }
  return offers;
}

TEST(CompletionTest, CommandsAndOptionsAreOffered) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(Offers({"ca"}), Words{"campaign"});
  EXPECT_EQ(Offers({"campaign", ""}), (Words{"submit", "check", "list", "show", "export", "watch",
                                             "wait", "cancel", "pause", "resume", "rerun"}));
  EXPECT_EQ(Offers({"campaign", "submit", "--dr"}), Words{"--dry-run"});
  EXPECT_EQ(Offers({"results", "-o", ""}), (Words{"table", "json", "csv"}));
  EXPECT_EQ(Offers({"campaign", "submit", "-o", ""}), (Words{"table", "json", "name"}));
  EXPECT_EQ(Offers({"campaign", "watch", "-o", ""}), (Words{"table", "json"}));
  EXPECT_EQ(Offers({"campaign", "show", "-o", ""}),
            (Words{"table", "json", "csv", "junit", "markdown"}));
  EXPECT_EQ(Offers({"baseline", "show", "-o", ""}), (Words{"table", "json", "csv"}));
  EXPECT_EQ(Offers({"re"}), (Words{"results", "regressions", "report"}));
  EXPECT_EQ(Offers({"baseline", ""}), (Words{"set", "list", "show"}));
  EXPECT_EQ(Offers({"context", ""}), (Words{"list", "use", "show", "remove"}));
  EXPECT_EQ(Offers({"user", ""}), (Words{"invite", "list", "remove", "ban", "unban"}));
  EXPECT_EQ(Offers({"node", "inv"}), (Words{"invite", "invites"}));
  EXPECT_EQ(Offers({"node", "invite", "--e"}), (Words{"--ephemeral", "--expires"}));
  EXPECT_EQ(Offers({"deploy", "--hosts", ""}), Words());
  EXPECT_EQ(Offers({"schedule", ""}), (Words{"add", "list", "remove"}));
  EXPECT_EQ(Offers({"schedule", "add", "--ti"}), Words{"--time-zone"});
  EXPECT_EQ(Offers({"regressions", "ack", "--f"}), Words{"--false-alarm"});
  EXPECT_EQ(Offers({"compare", "--m"}), Words{"--margin"});
  EXPECT_EQ(Offers({"node", "list", "--coord"}), Words{"--coordinator"});
  EXPECT_EQ(Offers({"up", "--data", ""}), Words());
}

TEST(CompletionTest, Bash_OffersWhatTheProgramSays) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/completion";
  std::ofstream(path) << RunAssay({"completion", "bash"}, "").out << "COMP_WORDS=(" ASSAY_PROGRAM
                      << " campaign submit --dr)\nCOMP_CWORD=3\n_assay\n"
                      << "echo \"${COMPREPLY[*]}\"\n";
  SubprocessOptions options;
  options.argv = {"bash", path};
  const Result<CommandOutput> output = RunCommand(options, std::chrono::seconds(20));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->output, "--dry-run\n");
}

TEST(CompletionTest, EveryShell_HasAScript) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_EQ(RunAssay({"completion", shell}, "").exit_code, 0) << shell;
  }
  EXPECT_EQ(RunAssay({"completion", "tcsh"}, "").exit_code, 2);
}

}  // namespace
}  // namespace assay::cli
