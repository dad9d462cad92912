// The output of the other ranks of a local gang.
#pragma once

#include <thread>
#include <vector>

#include "common/subprocess.h"

namespace assay {

// Copies what ranks 1 and above write to these pipes to stderr, each line with its rank in front:
// "rank 2: ...". Works on a thread of its own.
class RankOutput {
 public:
  explicit RankOutput(std::vector<FileDescriptor> outputs);
  // Call after the ranks have ended. Returns when all of their output is copied.
  ~RankOutput();
  RankOutput(const RankOutput&) = delete;
  RankOutput& operator=(const RankOutput&) = delete;

 private:
  FileDescriptor ended_;  // Closing it tells the thread that the ranks have ended.
  std::thread thread_;
};

}  // namespace assay
