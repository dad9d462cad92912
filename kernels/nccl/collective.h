// Describes each NCCL collective: how many elements a rank reads and writes, what the output must
// contain, and how the bandwidth is computed. This file needs neither CUDA nor NCCL.
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

// A collective operation as one rank (process) sees it. `count` is the count argument of NCCL's
// function. If the collective divides an array among the ranks, this is the number of elements in
// one rank's share. Otherwise, it is the number of elements in the whole array.
struct CollectivePlace {
  int ranks = 2;
  int rank = 0;
  int root = 0;
  int64_t count = 0;

  bool is_root() const { return rank == root; }
};

// The value of OutputBlock::source if the block is the reduction of all ranks' inputs.
inline constexpr int kAllRanks = -1;

// A block of a rank's output, and its expected contents. The block consists of `count` elements,
// starting at element `first`. It must equal the part of rank `source`'s input that starts at
// element `source_first`. If `source` is kAllRanks, it must equal the reduction of that part over
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
  // True if the benchmark parameter "bytes" is the size of one array that is divided among the
  // ranks. As in nccl-tests, each share is rounded down to a multiple of 16 bytes. If false, every
  // rank has an array of "bytes" bytes.
  bool divided = false;
  bool reduces = false;
  bool rooted = false;
  // The reason why this collective cannot write its output over its input, or null if it can.
  const char* not_in_place = nullptr;
  // True if no rank can finish the collective before every rank has started it. In that case, the
  // rank with the shortest time is the one that started last.
  bool mutual = false;
  // Returns the ratio of bus bandwidth to algorithm bandwidth, as defined by nccl-tests
  // (doc/PERFORMANCE.md). The ratio is the number of bytes that the busiest link must carry per
  // byte of payload.
  double (*bus_factor)(int ranks);
  const char* bus_formula;
  // Returns the number of messages that must be sent one after another in the usual algorithm.
  int (*steps)(int ranks);
  const char* steps_formula;
  // Returns the number of elements in this rank's input (below: output), or 0 if it has none.
  int64_t (*input_count)(const CollectivePlace&);
  int64_t (*output_count)(const CollectivePlace&);
  // Returns where the input (below: output) begins in the buffer that both share if the collective
  // runs in place.
  int64_t (*input_at)(const CollectivePlace&) = [](const CollectivePlace&) { return int64_t{0}; };
  int64_t (*output_at)(const CollectivePlace&) = [](const CollectivePlace&) { return int64_t{0}; };
  // Returns the blocks that make up this rank's whole output, in order.
  std::vector<OutputBlock> (*output)(const CollectivePlace&);
};

// Returns all collectives, in the order in which they are listed to users.
const std::vector<Collective>& Collectives();
const Collective& CollectiveOf(CollectiveKind kind);

// When an array is divided among ranks, each share is rounded down to a multiple of this many
// bytes. nccl-tests does the same, to keep the shares aligned.
inline constexpr int64_t kShareAlignment = 16;

// Returns the element count to pass to NCCL for an array of `bytes` bytes. If the collective does
// not divide the array among the ranks, `bytes` must be a multiple of `element_bytes`.
int64_t CountOf(const Collective& collective, int64_t bytes, int64_t element_bytes, int ranks);

// Returns the payload size in bytes, as nccl-tests counts it. This may be slightly less than the
// parameter "bytes", because each rank's share is rounded down.
int64_t PayloadBytes(const Collective& collective, int64_t count, int64_t element_bytes, int ranks);

// Returns how many bytes the links carry per byte of payload, averaged over ranks and including the
// flags that NCCL's protocols add. `algorithm` is "RING", "TREE", "PAT" or "P2P", and `protocol` is
// "SIMPLE", "LL" or "LL128", as NCCL's profiler names them. Returns 0 if the number is unknown, as
// for NVLS and CollNet, where switches perform the reduction.
double WireFactor(const Collective& collective, const std::string& algorithm,
                  const std::string& protocol, int ranks);

}  // namespace assay
