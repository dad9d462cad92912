// A gang on this machine without an agent: the calling process is rank 0, the
// others are children running `assay-runner rank`.
#pragma once

#include <memory>
#include <string>

#include "kernels/benchmark.h"

namespace assay {

// The order that a child reads from its stdin before it starts.
struct RankOrder {
  int rank = 0;
  int world_size = 1;
  uint64_t seed = 0;
  bool measure = true;
  std::string token;

  std::string ToString() const;  // One line.
  static Result<RankOrder> Parse(const std::string& line);
};

// The children, and the way to them. Children end by themselves when this process
// does, however it ends: their stdin closes. When one freezes all are killed, so that this
// process loses its peers instead of waiting. What they write to stdout and stderr goes to this
// process' stderr.
class LocalGang {
 public:
  virtual ~LocalGang() = default;  // Closes the children's stdin and waits for them.
  virtual Peers& peers() = 0;
};

// Starts ranks 1 to world_size - 1 of `benchmark` with `parameters`, and waits until all have
// met. One that ends before is an error at once (PEER_LOST), which says which and how.
Result<std::unique_ptr<LocalGang>> StartLocalGang(const std::string& benchmark,
                                                  const ParameterMap& parameters, int world_size,
                                                  uint64_t seed, bool measure);

// Ends this process with kExitStopped as soon as stdin does.
void StopWithStdin();

}  // namespace assay
