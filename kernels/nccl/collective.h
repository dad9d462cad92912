// Describes each NCCL collective: how many elements a rank reads and writes, what the output must
// contain, and how bandwidth is computed. Needs neither CUDA nor NCCL.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

enum class CollectiveKind {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter,
  kSendRecv,
};

// A collective operation as seen by one rank (process). `count` is the argument that NCCL's
// function takes: the number of elements in one rank's share if the collective divides an array
// among the ranks, or in the whole array otherwise.
struct CollectivePlace {
  int ranks = 2;
  int rank = 0;
  int root = 0;
  int64_t count = 0;

  bool is_root() const { return rank == root; }
};

// The value of OutputBlock::source if the block is the reduction of all ranks' inputs.
inline constexpr int kAllRanks = -1;

// A block in a rank's output and its expected contents. The block has `count` elements, starting at
// element `first`. They must equal `count` elements of rank `source`'s input, starting at element
// `source_first`. If `source` is kAllRanks, they must equal the reduction of these elements over
// all ranks.
struct OutputBlock {
  int source = kAllRanks;
  int64_t source_first = 0;
  int64_t first = 0;
  int64_t count = 0;
};

// The description of one collective operation, such as all-reduce. Its functions have no side
// effects. All sizes and positions are in elements.
struct Collective {
  CollectiveKind kind;
  const char* name;
  const char* summary;
  // True if the benchmark parameter "bytes" is the size of one array divided among the ranks. As
  // in nccl-tests, each share is rounded down to a multiple of 16 bytes. If false, every rank has
  // its own array of that size.
  bool divided = false;
  bool reduces = false;
  bool rooted = false;
  // The reason why this collective cannot write its output over its input, or null if it can.
  const char* not_in_place = nullptr;
  // True if no rank can finish the collective before every rank has started it. The last rank to
  // start then measures the shortest time, because it does not wait for the others.
  bool mutual = false;
  // Returns the ratio of bus bandwidth to algorithm bandwidth, as defined by nccl-tests
  // (doc/PERFORMANCE.md): the number of bytes that the busiest link must carry per byte of payload.
  double (*bus_factor)(int ranks);
  const char* bus_formula;
  // Returns the number of messages that must be sent one after another in the usual algorithm.
  int (*steps)(int ranks);
  const char* steps_formula;
  // Returns the number of elements in this rank's input (below: output), or 0 if it has none.
  int64_t (*input_count)(const CollectivePlace&);
  int64_t (*output_count)(const CollectivePlace&);
  // Returns the position of the input in the shared buffer when the collective runs in place, that
  // is, with input and output in the same buffer. The function below does the same for the output.
  int64_t (*input_at)(const CollectivePlace&) = [](const CollectivePlace&) { return int64_t{0}; };
  int64_t (*output_at)(const CollectivePlace&) = [](const CollectivePlace&) { return int64_t{0}; };
  // Returns the blocks that make up this rank's whole output, in order.
  std::vector<OutputBlock> (*output)(const CollectivePlace&);
};

// Returns all collectives, in the order in which they are listed to users.
const std::vector<Collective>& Collectives();
const Collective& CollectiveOf(CollectiveKind kind);

// The alignment, in bytes, of each rank's share when an array is divided among the ranks. As in
// nccl-tests, shares are rounded down to a multiple of this number.
inline constexpr int64_t kShareAlignment = 16;

// Returns the element count to pass to NCCL for an array of `bytes` bytes. If the collective does
// not divide the array among the ranks, `bytes` must be a multiple of `element_bytes`.
int64_t CountOf(const Collective& collective, int64_t bytes, int64_t element_bytes, int ranks);

// Returns the payload size in bytes, as defined by nccl-tests. It may be slightly less than the
// parameter "bytes", because each rank's share is rounded down.
int64_t PayloadBytes(const Collective& collective, int64_t count, int64_t element_bytes, int ranks);

// Returns the number of bytes that the links carry per byte of payload, averaged over the ranks.
// Includes the flags that NCCL's protocols add to the data. `algorithm` and `protocol` are names
// from NCCL's profiler, such as "RING" and "LL128". Returns 0 if the number is unknown, for example
// because switches perform the reduction (NVLS and CollNet).
double WireFactor(const Collective& collective, const std::string& algorithm,
                  const std::string& protocol, int ranks);

}  // namespace assay
