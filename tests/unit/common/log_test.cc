#include "common/log.h"

#include <gtest/gtest.h>

#include <string>

namespace assay {
namespace {

TEST(Log, TextOfAPeerCannotForgeALine) {
  ASSERT_TRUE(InitLog("test", "info").ok());
  ::testing::internal::CaptureStderr();
  Log().warn("job failed: {}",
             "X\n2026-01-01T00:00:00.000Z info assay-coordinator: forged\r\x1b[2J\u009b\u202e");
  const std::string written = ::testing::internal::GetCapturedStderr();
  const size_t text = written.find("job failed: ");
  ASSERT_NE(text, std::string::npos);
  EXPECT_EQ(written.substr(text),
            "job failed: X 2026-01-01T00:00:00.000Z info assay-coordinator: "
            "forged\ufffd\ufffd[2J\ufffd\ufffd\n");
}

}  // namespace
}  // namespace assay
