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

// One rank's view of a collective. `count` is the count argument of NCCL's function: the number of
// elements in the whole array or, if the collective divides the array among the ranks, in one
// rank's share.
struct CollectivePlace {
  int ranks = 2;
  int rank = 0;
  int root = 0;
  int64_t count = 0;

  bool is_root() const { return rank == root; }
};

// The value of OutputBlock::source if the block is the reduction of all ranks' inputs.
inline constexpr int kAllRanks = -1;

// The expected contents of a block of a rank's output: `count` elements, from element `first` on.
// They must equal the elements of rank `source`'s input, from element `source_first` on. If
// `source` is kAllRanks, they must equal the reduction of those elements over the inputs of all
// ranks.
struct OutputBlock {
  int source = kAllRanks;
  int64_t source_first = 0;
  int64_t first = 0;
  int64_t count = 0;
};

// The description of one collective. Its functions have no side effects, and their sizes and
// positions are in elements.
struct Collective {
  CollectiveKind kind;
  const char* name;
  const char* summary;
  // True if the parameter "bytes" is the size of one array that is divided among the ranks. As in
  // nccl-tests, each share is rounded down to a multiple of 16 bytes. If false, "bytes" is the size
  // of the array on each rank.
  bool divided = false;
  bool reduces = false;
  bool rooted = false;
  // The reason why this collective cannot write its output over its input, or null if it can.
  const char* not_in_place = nullptr;
  // True if no rank can finish the collective before every rank has started it. Only then do the
  // ranks' times show which rank started last.
  bool mutual = false;
  // Returns the ratio of bus bandwidth to algorithm bandwidth, as defined by nccl-tests
  // (doc/PERFORMANCE.md). The ratio is the number of bytes that the busiest link must carry per
  // byte of payload.
  double (*bus_factor)(int ranks);
  const char* bus_formula;
  // Returns how many messages must be sent one after the other if the usual algorithm, a ring, is
  // used.
  int (*steps)(int ranks);
  const char* steps_formula;
  // Return the number of elements in this rank's input and output, or 0 if the rank has no such
  // buffer.
  int64_t (*input_count)(const CollectivePlace&);
  int64_t (*output_count)(const CollectivePlace&);
  // If the collective runs in place, input and output share a buffer. Return the positions in that
  // buffer where input and output begin.
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

// Returns how many bytes the links carry per byte of payload, including the protocol's flags. The
// number is averaged over ranks. `algorithm` is "RING", "TREE", "PAT" or "P2P", and `protocol` is
// "SIMPLE", "LL" or "LL128", as NCCL's profiler names them. Returns 0 for other names, such as NVLS
// and CollNet, where switches perform the reduction.
double WireFactor(const Collective& collective, const std::string& algorithm,
                  const std::string& protocol, int ranks);

}  // namespace assay
