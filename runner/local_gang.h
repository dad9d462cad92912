// Runs a collective on this machine without an agent. This process is rank 0; every other rank is a
// child process that runs `assay-runner rank`.
#pragma once

#include <memory>
#include <string>

#include "kernels/benchmark.h"

namespace assay {

// The instructions that a child process reads from its stdin before it starts.
struct RankOrder {
  int rank = 0;
  int world_size = 1;
  uint64_t seed = 0;
  bool measure = true;
  std::string token;

  std::string ToString() const;  // One line.
  static Result<RankOrder> Parse(const std::string& line);
};

// The child processes of all ranks except rank 0, which runs in this process. When this process
// exits, their stdin is closed, which makes them exit as well. If one child freezes, all are
// killed, so that this process fails with an error instead of waiting forever. Their output is
// copied to this process's stderr.
class LocalGang {
 public:
  virtual ~LocalGang() = default;  // Closes the children's stdin and waits for them.
  virtual Peers& peers() = 0;
};

// Starts ranks 1 to world_size - 1 of a benchmark as child processes, and waits until all ranks are
// connected. If a child terminates before that, returns PEER_LOST, which says which rank it was and
// how it terminated.
Result<std::unique_ptr<LocalGang>> StartLocalGang(const std::string& benchmark,
                                                  const ParameterMap& parameters, int world_size,
                                                  uint64_t seed, bool measure);

// Starts to watch stdin, and ends this process with kExitStopped as soon as stdin is closed.
void StopWithStdin();

}  // namespace assay
