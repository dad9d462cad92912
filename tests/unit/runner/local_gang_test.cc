// Tests how rank 0 learns of children that end before or after they have met it, and of their
// errors. A gang's children run this program again, as `rank` with the name of a benchmark, which
// selects their behaviour.
#include "runner/local_gang.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <string>

#include "gang/peers.h"
#include "tests/wording.h"

namespace assay {
namespace {

constexpr Duration kPatience = std::chrono::seconds(60);

// Runs one of three ranks. Rank 2 ends as requested; rank 1 waits for the end of its stdin.
int RunRank(const std::string& how) {
  if (how == "exits_untold") return 3;
  std::string line;
  std::getline(std::cin, line);
  const auto order = RankOrder::Parse(line);
  if (!order.ok()) return 9;
  if (order->rank == 2 && how == "exits") return 7;
  if (order->rank == 2 && how == "is_killed") kill(getpid(), SIGKILL);
  if (how == "is_killed_later") {
    const auto peers = JoinPeers(order->token, order->rank, order->world_size, kPatience);
    // Rank 0 broadcasts after all have met.
    if (!peers.ok() || !(*peers)->Broadcast(&line, kPatience).ok()) return 8;
    if (order->rank == 2) kill(getpid(), SIGKILL);
    std::getline(std::cin, line);
    return 0;
  }
  if (how == "speaks") {
    std::cout << "out of a library\nand more" << std::endl;
    std::cerr << "a warning without its line feed";
    if (order->rank == 2) return 7;
  }
  std::getline(std::cin, line);
  return 0;
}

// Returns why a gang of three whose children behave like this does not meet.
std::string Failure(const std::string& how) {
  const auto gang = StartLocalGang(how, {}, 3, 0, false);
  EXPECT_EQ(gang.status().reason(), Reason::kPeerLost) << gang.status();
  return gang.status().message();
}

TEST(LocalGang, RankThatEndsBeforeTheMeeting_IsNamedWithItsExit) {
  EXPECT_WORDING("runner/rank-exited", Failure("exits"));
  EXPECT_WORDING("runner/rank-killed", Failure("is_killed"));
}

TEST(LocalGang, RankThatEndsBeforeItReadsItsOrder_FailsTheMeeting) { Failure("exits_untold"); }

TEST(LocalGang, RankThatIsKilledLater_IsNamedAlone) {
  testing::internal::CaptureStderr();
  {
    const auto gang = StartLocalGang("is_killed_later", {}, 3, 0, false);
    ASSERT_TRUE(gang.ok()) << gang.status();
    std::string word = "go";
    ASSERT_TRUE((*gang)->peers().Broadcast(&word, kPatience).ok());
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("rank 2 was killed by signal 9"), std::string::npos) << text;
  EXPECT_EQ(text.find("rank 1 was killed"), std::string::npos) << text;
}

TEST(LocalGang, OutputOfRanks_GoesToStderrAfterTheirRank) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Failure("speaks");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  for (const char* rank : {"rank 1: ", "rank 2: "}) {
    for (const char* line :
         {"out of a library\n", "and more\n", "a warning without its line feed\n"}) {
      EXPECT_NE(text.find(std::string(rank) + line), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // As assay-runner does.
  if (argc > 2 && argv[1] == std::string("rank")) return assay::RunRank(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
