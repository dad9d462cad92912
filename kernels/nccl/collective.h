// Describes NCCL's collectives as data: how many elements each rank reads and writes, what every
// output must contain, and how bandwidth is computed. Needs neither CUDA nor NCCL.
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

// One rank's view of a collective. `count` is the argument of NCCL's functions: the number of
// elements in the array, or in one rank's share if the array is divided among the ranks.
struct CollectivePlace {
  int ranks = 2;
  int rank = 0;
  int root = 0;
  int64_t count = 0;

  bool is_root() const { return rank == root; }
};

// The source of a block that is the reduction of all ranks' inputs.
inline constexpr int kAllRanks = -1;

// The expected contents of elements [first, first + count) of a rank's output. They equal the input
// of rank `source`, or the reduction of all ranks' inputs if that is kAllRanks, from element
// `source_first` on.
struct OutputBlock {
  int source = kAllRanks;
  int64_t source_first = 0;
  int64_t first = 0;
  int64_t count = 0;
};

// One collective. Its functions are pure and count in elements.
struct Collective {
  CollectiveKind kind;
  const char* name;
  const char* summary;
  // True if the parameter "bytes" is the size of one array that is divided among the ranks, in
  // shares rounded down to 16 bytes as in nccl-tests. False if each rank has an array of that size.
  bool divided = false;
  bool reduces = false;
  bool rooted = false;
  // The reason why NCCL cannot write over its input; null if it can.
  const char* not_in_place = nullptr;
  // True if no rank can finish before every rank has started. Only then can the ranks' times show
  // which rank started last.
  bool mutual = false;
  // Returns the bus bandwidth divided by the algorithm bandwidth S / t. This is the number of bytes
  // that the busiest link must carry per byte of the payload size S (nccl-tests,
  // doc/PERFORMANCE.md).
  double (*bus_factor)(int ranks);
  const char* bus_formula;
  // Returns the number of consecutive messages in the usual algorithm, a ring.
  int (*steps)(int ranks);
  const char* steps_formula;
  // Return the elements that this rank reads and writes; 0 if it has no such buffer.
  int64_t (*input_count)(const CollectivePlace&);
  int64_t (*output_count)(const CollectivePlace&);
  // Return where input and output begin in the one buffer of an in-place collective.
  int64_t (*input_at)(const CollectivePlace&) = [](const CollectivePlace&) { return int64_t{0}; };
  int64_t (*output_at)(const CollectivePlace&) = [](const CollectivePlace&) { return int64_t{0}; };
  // Returns the blocks of the whole output, in order.
  std::vector<OutputBlock> (*output)(const CollectivePlace&);
};

// In the order of listings: all_reduce first.
const std::vector<Collective>& Collectives();
const Collective& CollectiveOf(CollectiveKind kind);

// When an array is divided among ranks, each share is a multiple of this many bytes. nccl-tests has
// the same rule, which keeps the shares aligned.
inline constexpr int64_t kShareAlignment = 16;

// Returns the element count to pass to NCCL for an array of `bytes` (see CollectivePlace::count).
// If the array is not divided among the ranks, `bytes` must be a multiple of `element_bytes`.
int64_t CountOf(const Collective& collective, int64_t bytes, int64_t element_bytes, int ranks);

// Returns the payload size S in bytes, as nccl-tests counts it. It can be slightly less than the
// parameter "bytes", because each rank's share is rounded down.
int64_t PayloadBytes(const Collective& collective, int64_t count, int64_t element_bytes, int ranks);

// Returns the bytes that the links really carry per byte of payload, including the protocol's
// flags, as a mean over ranks. `algorithm` and `protocol` are names from NCCL's profiler: "RING",
// "TREE", "PAT" or "P2P", and "SIMPLE", "LL" or "LL128". Returns 0 for others: with NVLS and
// CollNet, switches do the reduction.
double WireFactor(const Collective& collective, const std::string& algorithm,
                  const std::string& protocol, int ranks);

}  // namespace assay
