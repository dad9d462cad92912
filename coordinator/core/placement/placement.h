// Where the cases of one benchmark may run: the placements that become jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/benchmark.pb.h"
#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/node_service.pb.h"
#include "common/violations.h"
#include "storage/node_ids.h"

namespace assay::coordinator {

// One job's place; the fields are storage::NewJob's.
struct Placement {
  int node_count = 1;
  storage::NodeIds candidate_node_ids;
  std::vector<int> gpu_indices;  // Of each node, in rank order.
};

struct Placements {
  std::vector<Placement> list;
  // How many there are; beyond PlacementRequest::most the list is left empty.
  int64_t count = 0;
  // Set if there is none because the nodes are too few or have too few GPUs: what is
  // needed, and what there is.
  std::optional<Violation> lack;
};

struct PlacementRequest {
  const v1::BenchmarkSchema& schema;
  v1::PlacementPolicy policy = v1::PLACEMENT_POLICY_EACH;
  std::vector<int> gpu_indices;  // As the user gave them; empty means all.
  int ranks = 1;
  int nodes = 1;            // That a GPU collective's ranks spread over.
  bool mixed_gpus = false;  // A gang's GPUs may be of several models.
  int64_t most = 0;
  // Where faults are reported.
  std::string path;
  int line = 0;
};

// The nodes of `nodes` that can run the benchmark in this version, sorted by name. If
// there are none, a violation gives each node's reason.
std::vector<v1::Node> EligibleNodes(const v1::BenchmarkSchema& schema,
                                    const std::vector<v1::Node>& nodes, const std::string& path,
                                    int line, Violations& violations);

// The placements of a job with `ranks` ranks on `nodes` (EligibleNodes' answer, not
// empty):
//   CPU      EACH: one a node.              ANY: one, on any node.
//   GPU      one rank, EACH: one a GPU.     ANY: one, GPU 0 of any node.
//            R ranks: GPUs 0..R-1 (or the first R given) of nodes that have them;
//            EACH: one a node.              ANY: one, on any such node.
//            over N nodes: as NETWORK, with GPUs 0..R/N-1 (or the first R/N given) of
//            each of the N. Ranks are numbered node by node.
//   NETWORK  R nodes, one rank each. EACH: consecutive groups of R by name, the last
//            group taking the last R nodes, so that every node is covered.
//                                           ANY: one, on any R nodes.
//            PAIRS (of two nodes alone): every pair, in the rounds of a tournament.
// Too few nodes or GPUs is the answer's `lack`, which says how many there are, and no
// violation; `gpus` that no node has, or fewer than ranks, are one. So are nodes of which
// no placement has the same driver, CUDA runtime and NCCL. ANY takes GPU nodes that
// agree in these; a group of EACH or a pair that does not is placed, and fails with that
// reason when its turn comes.
// GPUs of one model come together: ANY takes the largest set of nodes of one model, EACH
// groups the nodes of each model apart. What cannot be placed so is a violation that names
// models and nodes, unless `mixed_gpus`.
Placements Place(const PlacementRequest& request, const std::vector<v1::Node>& nodes,
                 Violations& violations);

}  // namespace assay::coordinator
