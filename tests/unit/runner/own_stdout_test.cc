#include "runner/own_stdout.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace assay {
namespace {

// A descriptor of this process that leads to a file of its own for as long as this lives.
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

TEST(OwnStdout, WhatLibrariesPrintGoesToStderr) {
  InFile out(stdout, STDOUT_FILENO);
  InFile err(stderr, STDERR_FILENO);
  std::fputs("before\n", stdout);
  {
    const OwnStdout own;
    std::fputs("NCCL version 2.28.3\n", stdout);
    // As a process does that was started meanwhile.
    EXPECT_EQ(std::system("echo of another process"), 0);
  }
  std::fputs("{}\n", stdout);
  EXPECT_EQ(out.Text(), "before\n{}\n");
  EXPECT_EQ(err.Text(), "of another process\nNCCL version 2.28.3\n");
}

TEST(OwnStdout, WithoutStderrStdoutStays) {
  InFile out(stdout, STDOUT_FILENO);
  const int before = dup(STDERR_FILENO);
  close(STDERR_FILENO);
  {
    const OwnStdout own;
    std::fputs("a log\n", stdout);
  }
  dup2(before, STDERR_FILENO);
  close(before);
  EXPECT_EQ(out.Text(), "a log\n");
}

}  // namespace
}  // namespace assay
