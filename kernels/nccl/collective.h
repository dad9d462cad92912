// NCCL's collectives as data: the elements of each rank's input and output, the contents of every
// output, and how bandwidth is counted. Compiles without CUDA and NCCL.
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

// One rank's place in a collective. `count` is the argument of NCCL's functions: the elements of
// the array, or of one rank's share if the array is divided.
struct CollectivePlace {
  int ranks = 2;
  int rank = 0;
  int root = 0;
  int64_t count = 0;

  bool is_root() const { return rank == root; }
};

// The source of a block that is the reduction of all ranks' inputs.
inline constexpr int kAllRanks = -1;

// A part of a rank's output: elements [first, first + count) are those of rank `source`'s input
// from `source_first` on, or the reduction of all ranks' inputs there.
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
  // True if every rank has a share of the array `bytes`, rounded down to 16 bytes per rank as in
  // nccl-tests; false if each rank has an array of that size.
  bool divided = false;
  bool reduces = false;
  bool rooted = false;
  // The reason why NCCL cannot write over its input; null if it can.
  const char* not_in_place = nullptr;
  // True if no rank can finish before every rank has started. Only then do waiting times show which
  // rank started last.
  bool mutual = false;
  // Returns bus bandwidth over algorithm bandwidth: the bytes that the busiest link must carry,
  // over the size S (nccl-tests, doc/PERFORMANCE.md).
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

// A rank's share of a divided array is a multiple of this many bytes: nccl-tests' rule, so that
// shares stay aligned.
inline constexpr int64_t kShareAlignment = 16;

// Returns CollectivePlace::count for `bytes` on `ranks` ranks. An array that is not divided must be
// a whole number of elements.
int64_t CountOf(const Collective& collective, int64_t bytes, int64_t element_bytes, int ranks);

// Returns the size S in bytes for that count, as nccl-tests counts it: `bytes`, or a little less if
// shares were rounded.
int64_t PayloadBytes(const Collective& collective, int64_t count, int64_t element_bytes, int ranks);

// Returns the bytes that links carry per byte of S, the mean over ranks; 0 if unknown (with NVLS
// and CollNet the network reduces). The names are those of NCCL's profiler: "RING", "TREE", "PAT"
// or "P2P", and "SIMPLE", "LL" or "LL128".
double WireFactor(const Collective& collective, const std::string& algorithm,
                  const std::string& protocol, int ranks);

}  // namespace assay
