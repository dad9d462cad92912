// What NCCL's collectives do, as declarations: who has how many elements, what every
// rank's output holds, how bandwidth is counted. Plain C++ without CUDA or NCCL.
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

// One rank's place in a collective. `count` is what NCCL's functions take: the elements
// of the array, or of one rank's share where the array is divided.
struct CollectivePlace {
  int ranks = 2;
  int rank = 0;
  int root = 0;
  int64_t count = 0;

  bool is_root() const { return rank == root; }
};

// Stands for the reduction of all ranks' inputs.
inline constexpr int kAllRanks = -1;

// Elements [first, first + count) of a rank's output are those of rank `source`'s input
// from `source_first` on, or the reduction of all ranks'.
struct OutputBlock {
  int source = kAllRanks;
  int64_t source_first = 0;
  int64_t first = 0;
  int64_t count = 0;
};

// One collective. The functions are pure; elements throughout.
struct Collective {
  CollectiveKind kind;
  const char* name;
  const char* summary;
  // True if `bytes` is an array of which every rank has a share of count elements, rounded
  // down to 16 bytes a rank as nccl-tests does; false if each rank has all of it.
  bool divided;
  bool reduces;
  bool rooted;
  // Why NCCL cannot write over its input; null if it can.
  const char* not_in_place;
  // Whether no rank can be done before every rank has begun: only then does waiting tell
  // who came last.
  bool mutual;
  // Bus bandwidth over algorithm bandwidth: what the busiest link must carry at least, by
  // the size S (nccl-tests, doc/PERFORMANCE.md).
  double (*bus_factor)(int ranks);
  const char* bus_formula;
  // Messages that follow one another in the usual algorithm, a ring.
  int (*steps)(int ranks);
  const char* steps_formula;
  // What this rank reads and writes; 0 where it has no such buffer.
  int64_t (*input_count)(const CollectivePlace&);
  int64_t (*output_count)(const CollectivePlace&);
  // In place, both lie in one buffer, beginning at these elements of it.
  int64_t (*input_at)(const CollectivePlace&);
  int64_t (*output_at)(const CollectivePlace&);
  // Covers the whole output, in order.
  std::vector<OutputBlock> (*output)(const CollectivePlace&);
};

// Sorted as users think of them: all_reduce first.
const std::vector<Collective>& Collectives();
const Collective& CollectiveOf(CollectiveKind kind);

// A rank's share of a divided array is a multiple of this many bytes: nccl-tests' rule, so that
// shares stay aligned.
inline constexpr int64_t kShareAlignment = 16;

// `count` of a collective over `bytes` on `ranks` ranks. An undivided array is a whole number of
// elements.
int64_t CountOf(const Collective& collective, int64_t bytes, int64_t element_bytes, int ranks);

// Bytes of the size S that the collective then has, as nccl-tests counts them: `bytes`, or a
// little less where shares are rounded.
int64_t PayloadBytes(const Collective& collective, int64_t count, int64_t element_bytes, int ranks);

// Bytes that links carry for each byte of S with NCCL's algorithm and protocol, the mean
// over ranks; 0 if that is not known (NVLS and CollNet let the network reduce). Names as
// NCCL's profiler tells them: "RING", "TREE", "PAT", "P2P"; "SIMPLE", "LL", "LL128".
double WireFactor(const Collective& collective, const std::string& algorithm,
                  const std::string& protocol, int ranks);

}  // namespace assay
