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

int64_t Zero(const Place&) { return 0; }
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

// Returns a block of every rank, from element `source_first` of its input.
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

Collective AllReduce() {
  return {CollectiveKind::kAllReduce,
          "all_reduce",
          "every rank gets the reduction of all ranks' arrays (ncclAllReduce)",
          /*divided=*/false,
          /*reduces=*/true,
          /*rooted=*/false,
          /*not_in_place=*/nullptr,
          /*mutual=*/true,
          OthersShareTwice,
          "2 (n - 1) / n x bytes",
          RingStepsTwice,
          "2 (n - 1)",
          /*input_count=*/Share,
          /*output_count=*/Share,
          /*input_at=*/Zero,
          /*output_at=*/Zero,
          Reduced};
}

Collective AllGather() {
  return {CollectiveKind::kAllGather,
          "all_gather",
          "every rank gets the shares of all, side by side (ncclAllGather)",
          /*divided=*/true,
          /*reduces=*/false,
          /*rooted=*/false,
          /*not_in_place=*/nullptr,
          /*mutual=*/true,
          OthersShare,
          "(n - 1) / n x bytes",
          RingSteps,
          "(n - 1)",
          /*input_count=*/Share,
          /*output_count=*/All,
          /*input_at=*/OwnShare,
          /*output_at=*/Zero,
          InputOfEach};
}

Collective ReduceScatter() {
  return {CollectiveKind::kReduceScatter,
          "reduce_scatter",
          "every rank gets its share of the reduction (ncclReduceScatter)",
          /*divided=*/true,
          /*reduces=*/true,
          /*rooted=*/false,
          /*not_in_place=*/nullptr,
          /*mutual=*/true,
          OthersShare,
          "(n - 1) / n x bytes",
          RingSteps,
          "(n - 1)",
          /*input_count=*/All,
          /*output_count=*/Share,
          /*input_at=*/Zero,
          /*output_at=*/OwnShare,
          OwnShareReduced};
}

Collective Broadcast() {
  return {CollectiveKind::kBroadcast,
          "broadcast",
          "every rank gets the root's array (ncclBroadcast)",
          /*divided=*/false,
          /*reduces=*/false,
          /*rooted=*/true,
          /*not_in_place=*/nullptr,
          /*mutual=*/false,
          OneWay,
          "bytes",
          RingSteps,
          "(n - 1)",
          /*input_count=*/ShareAtRoot,
          /*output_count=*/Share,
          /*input_at=*/Zero,
          /*output_at=*/Zero,
          OfRoot};
}

Collective Reduce() {
  return {CollectiveKind::kReduce,
          "reduce",
          "the root gets the reduction of all ranks' arrays (ncclReduce)",
          /*divided=*/false,
          /*reduces=*/true,
          /*rooted=*/true,
          /*not_in_place=*/nullptr,
          /*mutual=*/false,
          OneWay,
          "bytes",
          RingSteps,
          "(n - 1)",
          /*input_count=*/Share,
          /*output_count=*/ShareAtRoot,
          /*input_at=*/Zero,
          /*output_at=*/Zero,
          ReducedAtRoot};
}

Collective AllToAll() {
  return {CollectiveKind::kAllToAll,
          "all_to_all",
          "every rank sends each rank another share (ncclAlltoAll, else grouped send and receive)",
          /*divided=*/true,
          /*reduces=*/false,
          /*rooted=*/false,
          "NCCL sends a rank's shares while others' arrive",
          /*mutual=*/true,
          OthersShare,
          "(n - 1) / n x bytes",
          OneStep,
          "1",
          /*input_count=*/All,
          /*output_count=*/All,
          /*input_at=*/Zero,
          /*output_at=*/Zero,
          OwnShareOfEach};
}

Collective Gather() {
  return {CollectiveKind::kGather,
          "gather",
          "the root gets the shares of all, side by side (ncclGather, else grouped send and "
          "receive)",
          /*divided=*/true,
          /*reduces=*/false,
          /*rooted=*/true,
          /*not_in_place=*/nullptr,
          /*mutual=*/false,
          OthersShare,
          "(n - 1) / n x bytes",
          OneStep,
          "1",
          /*input_count=*/Share,
          /*output_count=*/AllAtRoot,
          /*input_at=*/OwnShareAtRoot,
          /*output_at=*/Zero,
          InputOfEachAtRoot};
}

Collective Scatter() {
  return {CollectiveKind::kScatter,
          "scatter",
          "every rank gets its share of the root's array (ncclScatter, else grouped send and "
          "receive)",
          /*divided=*/true,
          /*reduces=*/false,
          /*rooted=*/true,
          /*not_in_place=*/nullptr,
          /*mutual=*/false,
          OthersShare,
          "(n - 1) / n x bytes",
          OneStep,
          "1",
          /*input_count=*/AllAtRoot,
          /*output_count=*/Share,
          /*input_at=*/Zero,
          /*output_at=*/OwnShareAtRoot,
          OwnShareOfRoot};
}

Collective SendRecv() {
  return {CollectiveKind::kSendRecv,
          "send_recv",
          "every rank sends its array to the next and gets that of the one before (ncclSend, "
          "ncclRecv)",
          /*divided=*/false,
          /*reduces=*/false,
          /*rooted=*/false,
          "NCCL sends an array while another arrives",
          /*mutual=*/false,
          OneWay,
          "bytes",
          OneStep,
          "1",
          /*input_count=*/Share,
          /*output_count=*/Share,
          /*input_at=*/Zero,
          /*output_at=*/Zero,
          OfPrevious};
}

}  // namespace

const std::vector<Collective>& Collectives() {
  static const std::vector<Collective> all = {
      AllReduce(), AllGather(), ReduceScatter(), Broadcast(), Reduce(),
      AllToAll(),  Gather(),    Scatter(),       SendRecv(),
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
  // In a ring, links carry as many bytes as the bus factor. The two trees of an all-reduce carry
  // half of the array each, up and down their n - 1 edges, which is as much per rank. PAT sends
  // each rank's share to every other rank once, as a ring does.
  if (algorithm != "RING" && algorithm != "TREE" && algorithm != "PAT" && algorithm != "P2P") {
    return 0;
  }
  // LL sends 4 bytes of flags per 4 bytes of data, LL128 8 per 120 (NCCL,
  // src/include/device.h).
  double overhead = 1;
  if (protocol == "LL") overhead = 2;
  if (protocol == "LL128") overhead = 128.0 / 120.0;
  const bool known = overhead != 1 || protocol == "SIMPLE" || algorithm == "P2P";
  return known ? collective.bus_factor(ranks) * overhead : 0;
}

}  // namespace assay
