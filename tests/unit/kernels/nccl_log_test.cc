#include "kernels/nccl/nccl_log.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace assay {
namespace {

using testing::ExitedWithCode;

constexpr size_t kAll = 1000;

// As NCCL does where NCCL_DEBUG_FILE says.
void WriteAsNccl(const std::string& text) {
  std::FILE* const file = std::fopen(std::getenv("NCCL_DEBUG_FILE"), "w");
  if (file == nullptr) return;
  std::fputs(text.c_str(), file);
  std::fclose(file);
}

// Each test in a process of its own: there is one log for all of a process's life.
class NcclLog : public testing::Test {
 protected:
  NcclLog() {
    unsetenv("NCCL_DEBUG");
    unsetenv("NCCL_DEBUG_FILE");
  }
};

TEST_F(NcclLog, WarningsComeFirst) {
  const auto keep = [] {
    KeepNcclLog();
    BeginNcclLog();
    WriteAsNccl("[0] NCCL INFO a\n[0] NCCL WARN b\n[0] NCCL INFO c\n");
    std::fputs(NcclLogTail(kAll).c_str(), stderr);
    std::exit(0);
  };
  EXPECT_EXIT(keep(), ExitedWithCode(0),
              "^\\[0\\] NCCL WARN b\n\\[0\\] NCCL INFO a\n\\[0\\] NCCL INFO c\n$");
}

TEST_F(NcclLog, SettingOfTheUserIsKept) {
  const auto keep = [] {
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_FILE", "/proc/self/fd/2", 1);
    KeepNcclLog();
    std::fputs((std::getenv("NCCL_DEBUG_FILE") + NcclLogTail(kAll)).c_str(), stderr);
    std::exit(0);
  };
  EXPECT_EXIT(keep(), ExitedWithCode(0), "^/proc/self/fd/2$");
}

// The first rank of a gang loads NCCL before it starts the others. Runs twice: in the process
// that a death test of this style starts, the variables are those of the first.
TEST(NcclLogOf, ChildProcessHasItsOwnLog) {
  if (std::getenv("ASSAY_TEST_STARTED") == nullptr) {
    unsetenv("NCCL_DEBUG");
    setenv("ASSAY_TEST_STARTED", "yes", 1);
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  KeepNcclLog();
  const auto write = [] {
    WriteAsNccl("[1] NCCL INFO mine\n");
    std::fputs(NcclLogTail(kAll).c_str(), stderr);
    std::exit(0);
  };
  EXPECT_EXIT(write(), ExitedWithCode(0), "\\[1\\] NCCL INFO mine\n");
}

}  // namespace
}  // namespace assay
