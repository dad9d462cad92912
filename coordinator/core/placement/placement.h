// Finds where the cases of one benchmark may run: the placements that become jobs.
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

// One job's placement; the fields are those of storage::NewJob.
struct Placement {
  int node_count = 1;
  storage::NodeIds candidate_node_ids;
  std::vector<int> gpu_indices;  // GPUs of each node, in rank order.
};

struct Placements {
  std::vector<Placement> list;
  // Number of placements. If it exceeds PlacementRequest::most, the list stays empty.
  int64_t count = 0;
  // Set if there is no placement because there are too few nodes or GPUs: what is needed and what
  // exists.
  std::optional<Violation> shortage;
};

struct PlacementRequest {
  const v1::BenchmarkSchema& schema;
  v1::PlacementPolicy policy = v1::PLACEMENT_POLICY_EACH;
  std::vector<int> gpu_indices;  // As the user gave them; empty means all.
  int ranks = 1;
  int nodes = 1;            // Nodes that a GPU collective's ranks spread over.
  bool mixed_gpus = false;  // If true, a gang's GPUs may be of several models.
  int64_t most = 0;
  // Where to report errors.
  std::string path;
  int line = 0;
};

// Returns the nodes that can run this version of the benchmark, sorted by name. If there are none,
// adds a violation with each node's reason.
std::vector<v1::Node> EligibleNodes(const v1::BenchmarkSchema& schema,
                                    const std::vector<v1::Node>& nodes, const std::string& path,
                                    int line, Violations& violations);

// Returns the placements of a job with `ranks` ranks on `nodes`, which is the non-empty result of
// EligibleNodes:
//   CPU      EACH: one per node.            ANY: one, on any node.
//   GPU      one rank, EACH: one per GPU.   ANY: one, on GPU 0 of any node.
//            R ranks: GPUs 0..R-1 (or the first R given) of nodes that have them;
//            EACH: one per node.            ANY: one, on any such node.
//            over N nodes: as NETWORK, with GPUs 0..R/N-1 (or the first R/N given) of
//            each of the N. Ranks are numbered node by node.
//   NETWORK  R nodes, one rank each. EACH: consecutive groups of R by name; the last
//            group consists of the last R nodes, so that every node is covered.
//                                           ANY: one, on any R nodes.
//            PAIRS (two nodes only): every pair, in the rounds of a tournament.
// Too few nodes or GPUs is not a violation: `shortage` of the result says how many there are.
// Violations are: `gpus` that no node has, fewer `gpus` than ranks, and nodes among which no
// placement has equal driver, CUDA runtime and NCCL versions. ANY takes GPU nodes with equal
// versions. A group of EACH or a pair with different versions is placed, and fails with that reason
// when it is scheduled.
// GPUs of one model are placed together: ANY takes the largest set of nodes of one model, EACH
// groups the nodes of each model separately. Unless `mixed_gpus` is set, cases that cannot be
// placed so are a violation that names models and nodes.
Placements Place(const PlacementRequest& request, const std::vector<v1::Node>& nodes,
                 Violations& violations);

}  // namespace assay::coordinator
