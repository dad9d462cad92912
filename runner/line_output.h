// Lines for somebody who may not read them.
#pragma once

#include <cstdio>
#include <string>

namespace assay {

// Of one thread. A pipe that nobody reads takes a part of a line, and then holds its writer for
// ever, signals or not: hence each is written by a thread of its own.
class LineOutput {
 public:
  // `stop` is readable once a signal has come that is to end this process.
  LineOutput(FILE* stream, int stop) : stream_(stream), stop_(stop) {}

  // Waits until the line is written, or until a signal comes and then for a second; with
  // `stopped`, which says that one has come, for that second alone. False if nobody has read it
  // by then, and of every further line: the thread is left behind and may hold the stream, so
  // that the process should leave by _exit.
  bool Print(const std::string& line, bool stopped);

 private:
  FILE* const stream_;
  const int stop_;
  bool unread_ = false;
};

}  // namespace assay
