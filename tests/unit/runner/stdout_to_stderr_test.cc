#include "runner/stdout_to_stderr.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace assay {
namespace {

// Redirects a descriptor of this process to a temporary file during its lifetime.
class InFile {
 public:
  InFile(std::FILE* stream, int fd) : stream_(stream), fd_(fd), before_(dup(fd)) {
    std::fflush(stream_);
    dup2(fileno(file_), fd_);
  }
  ~InFile() {
    std::fflush(stream_);
    dup2(before_, fd_);
    close(before_);
    std::fclose(file_);
  }

  std::string Text() {
    std::fflush(stream_);
    std::rewind(file_);
    char text[200] = {};
    return {text, std::fread(text, 1, sizeof text, file_)};
  }

 private:
  std::FILE* const stream_;
  std::FILE* const file_ = std::tmpfile();
  const int fd_;
  const int before_;
};

TEST(StdoutToStderr, OutputOfLibrariesGoesToStderr) {
  InFile out(stdout, STDOUT_FILENO);
  InFile err(stderr, STDERR_FILENO);
  std::fputs("before\n", stdout);
  {
    const StdoutToStderr redirected;
    std::fputs("NCCL version 2.28.3\n", stdout);
    // Child processes inherit the redirection.
    EXPECT_EQ(std::system("echo of another process"), 0);
  }
  std::fputs("{}\n", stdout);
  EXPECT_EQ(out.Text(), "before\n{}\n");
  EXPECT_EQ(err.Text(), "of another process\nNCCL version 2.28.3\n");
}

TEST(StdoutToStderr, WithoutStderrNothingIsRedirected) {
  InFile out(stdout, STDOUT_FILENO);
  const int before = dup(STDERR_FILENO);
  close(STDERR_FILENO);
  {
    const StdoutToStderr redirected;
    std::fputs("a log\n", stdout);
  }
  dup2(before, STDERR_FILENO);
  close(before);
  EXPECT_EQ(out.Text(), "a log\n");
}

}  // namespace
}  // namespace assay
