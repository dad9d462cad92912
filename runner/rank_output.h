// What the other ranks of a local gang say.
#pragma once

#include <thread>
#include <vector>

#include "common/subprocess.h"

namespace assay {

// Passes on to stderr, from a thread of its own, what ranks 1 and above write to these pipes, line
// by line with the rank before it: "rank 2: ...".
class RankOutput {
 public:
  explicit RankOutput(std::vector<FileDescriptor> outputs);
  // Returns when all that the ranks said is told. They have ended by then.
  ~RankOutput();
  RankOutput(const RankOutput&) = delete;
  RankOutput& operator=(const RankOutput&) = delete;

 private:
  FileDescriptor ended_;  // Closed once the ranks have ended.
  std::thread thread_;
};

}  // namespace assay
