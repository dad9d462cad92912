#include "kernels/nccl/collective.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "gang/peers.h"

namespace assay {
namespace {

using Place = CollectivePlace;

double OneWay(int) { return 1; }
double OthersShare(int ranks) { return static_cast<double>(ranks - 1) / ranks; }
double OthersShareTwice(int ranks) { return 2 * OthersShare(ranks); }

int OneStep(int) { return 1; }
int RingSteps(int ranks) { return ranks - 1; }
int RingStepsTwice(int ranks) { return 2 * (ranks - 1); }

int64_t Share(const Place& place) { return place.count; }
int64_t All(const Place& place) { return place.ranks * place.count; }
int64_t OwnShare(const Place& place) { return place.rank * place.count; }
int64_t ShareAtRoot(const Place& place) { return place.is_root() ? place.count : 0; }
int64_t AllAtRoot(const Place& place) { return place.is_root() ? All(place) : 0; }
int64_t OwnShareAtRoot(const Place& place) { return place.is_root() ? OwnShare(place) : 0; }

std::vector<OutputBlock> Reduced(const Place& place) { return {{kAllRanks, 0, 0, place.count}}; }
std::vector<OutputBlock> ReducedAtRoot(const Place& place) {
  return place.is_root() ? Reduced(place) : std::vector<OutputBlock>();
}
std::vector<OutputBlock> OwnShareReduced(const Place& place) {
  return {{kAllRanks, OwnShare(place), 0, place.count}};
}
std::vector<OutputBlock> OfRoot(const Place& place) { return {{place.root, 0, 0, place.count}}; }
std::vector<OutputBlock> OwnShareOfRoot(const Place& place) {
  return {{place.root, OwnShare(place), 0, place.count}};
}
std::vector<OutputBlock> OfPrevious(const Place& place) {
  return {{(place.rank + place.ranks - 1) % place.ranks, 0, 0, place.count}};
}

// Returns the layout of an output that has one block per rank, in rank order. Each block is a copy
// of that rank's input, starting at element `source_first`.
std::vector<OutputBlock> OfEach(const Place& place, int64_t source_first) {
  std::vector<OutputBlock> blocks;
  for (int source = 0; source < place.ranks; ++source) {
    blocks.push_back({source, source_first, source * place.count, place.count});
  }
  return blocks;
}
std::vector<OutputBlock> InputOfEach(const Place& place) { return OfEach(place, 0); }
std::vector<OutputBlock> InputOfEachAtRoot(const Place& place) {
  return place.is_root() ? OfEach(place, 0) : std::vector<OutputBlock>();
}
std::vector<OutputBlock> OwnShareOfEach(const Place& place) {
  return OfEach(place, OwnShare(place));
}

}  // namespace

const std::vector<Collective>& Collectives() {
  static const std::vector<Collective> all = {
      {.kind = CollectiveKind::kAllReduce,
       .name = "all_reduce",
       .summary = "every rank gets the reduction of all ranks' arrays (ncclAllReduce)",
       .reduces = true,
       .mutual = true,
       .bus_factor = OthersShareTwice,
       .bus_formula = "2 (n - 1) / n x bytes",
       .steps = RingStepsTwice,
       .steps_formula = "2 (n - 1)",
       .input_count = Share,
       .output_count = Share,
       .output = Reduced},
      {.kind = CollectiveKind::kAllGather,
       .name = "all_gather",
       .summary = "every rank gets the shares of all, side by side (ncclAllGather)",
       .divided = true,
       .mutual = true,
       .bus_factor = OthersShare,
       .bus_formula = "(n - 1) / n x bytes",
       .steps = RingSteps,
       .steps_formula = "(n - 1)",
       .input_count = Share,
       .output_count = All,
       .input_at = OwnShare,
       .output = InputOfEach},
      {.kind = CollectiveKind::kReduceScatter,
       .name = "reduce_scatter",
       .summary = "every rank gets its share of the reduction (ncclReduceScatter)",
       .divided = true,
       .reduces = true,
       .mutual = true,
       .bus_factor = OthersShare,
       .bus_formula = "(n - 1) / n x bytes",
       .steps = RingSteps,
       .steps_formula = "(n - 1)",
       .input_count = All,
       .output_count = Share,
       .output_at = OwnShare,
       .output = OwnShareReduced},
      {.kind = CollectiveKind::kBroadcast,
       .name = "broadcast",
       .summary = "every rank gets the root's array (ncclBroadcast)",
       .rooted = true,
       .bus_factor = OneWay,
       .bus_formula = "bytes",
       .steps = RingSteps,
       .steps_formula = "(n - 1)",
       .input_count = ShareAtRoot,
       .output_count = Share,
       .output = OfRoot},
      {.kind = CollectiveKind::kReduce,
       .name = "reduce",
       .summary = "the root gets the reduction of all ranks' arrays (ncclReduce)",
       .reduces = true,
       .rooted = true,
       .bus_factor = OneWay,
       .bus_formula = "bytes",
       .steps = RingSteps,
       .steps_formula = "(n - 1)",
       .input_count = Share,
       .output_count = ShareAtRoot,
       .output = ReducedAtRoot},
      {.kind = CollectiveKind::kAllToAll,
       .name = "all_to_all",
       .summary =
           "every rank sends each rank another share (ncclAlltoAll, else grouped send and receive)",
       .divided = true,
       .not_in_place = "NCCL sends a rank's shares while others' arrive",
       .mutual = true,
       .bus_factor = OthersShare,
       .bus_formula = "(n - 1) / n x bytes",
       .steps = OneStep,
       .steps_formula = "1",
       .input_count = All,
       .output_count = All,
       .output = OwnShareOfEach},
      {.kind = CollectiveKind::kGather,
       .name = "gather",
       .summary =
           "the root gets the shares of all, side by side (ncclGather, else grouped send and "
           "receive)",
       .divided = true,
       .rooted = true,
       .bus_factor = OthersShare,
       .bus_formula = "(n - 1) / n x bytes",
       .steps = OneStep,
       .steps_formula = "1",
       .input_count = Share,
       .output_count = AllAtRoot,
       .input_at = OwnShareAtRoot,
       .output = InputOfEachAtRoot},
      {.kind = CollectiveKind::kScatter,
       .name = "scatter",
       .summary =
           "every rank gets its share of the root's array (ncclScatter, else grouped send and "
           "receive)",
       .divided = true,
       .rooted = true,
       .bus_factor = OthersShare,
       .bus_formula = "(n - 1) / n x bytes",
       .steps = OneStep,
       .steps_formula = "1",
       .input_count = AllAtRoot,
       .output_count = Share,
       .output_at = OwnShareAtRoot,
       .output = OwnShareOfRoot},
      {.kind = CollectiveKind::kSendRecv,
       .name = "send_recv",
       .summary =
           "every rank sends its array to the next and gets that of the one before (ncclSend, "
           "ncclRecv)",
       .not_in_place = "NCCL sends an array while another arrives",
       .bus_factor = OneWay,
       .bus_formula = "bytes",
       .steps = OneStep,
       .steps_formula = "1",
       .input_count = Share,
       .output_count = Share,
       .output = OfPrevious},
  };
  return all;
}

const Collective& CollectiveOf(CollectiveKind kind) {
  const auto& all = Collectives();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Collective& one) { return one.kind == kind; });
  assert(found != all.end());
  return *found;
}

int64_t CountOf(const Collective& collective, int64_t bytes, int64_t element_bytes, int ranks) {
  if (!collective.divided) return bytes / element_bytes;
  return bytes / ranks / kShareAlignment * kShareAlignment / element_bytes;
}

int64_t PayloadBytes(const Collective& collective, int64_t count, int64_t element_bytes,
                     int ranks) {
  return count * element_bytes * (collective.divided ? ranks : 1);
}

double WireFactor(const Collective& collective, const std::string& algorithm,
                  const std::string& protocol, int ranks) {
  // With these algorithms, the average rank sends bus_factor() bytes per byte of payload:
  // - RING: by definition of the bus factor.
  // - TREE: two trees each move half of the array up and down n - 1 edges.
  // - PAT and P2P: each rank's share is sent once to every other rank.
  if (algorithm != "RING" && algorithm != "TREE" && algorithm != "PAT" && algorithm != "P2P") {
    return 0;
  }
  // NCCL's protocols send flags along with the data: LL sends 4 bytes of flags for every 4 bytes
  // of data, and LL128 sends 8 for every 120 (NCCL, src/include/device.h).
  double overhead = 1;
  if (protocol == "LL") overhead = 2;
  if (protocol == "LL128") overhead = 128.0 / 120.0;
  const bool known = overhead != 1 || protocol == "SIMPLE" || algorithm == "P2P";
  return known ? collective.bus_factor(ranks) * overhead : 0;
}

}  // namespace assay
