// Where the cases of one benchmark may run: the placements that become jobs.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/benchmark.pb.h"
#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/node_service.pb.h"
#include "coordinator/core/violations.h"

namespace assay::coordinator {

// One job's place; the fields are storage::NewJob's.
struct Placement {
  int node_count = 1;
  std::vector<std::string> candidate_node_ids;
  std::vector<int> gpu_indices;  // In rank order.
};

struct PlacementRequest {
  const v1::BenchmarkSchema& schema;
  v1::PlacementPolicy policy = v1::PLACEMENT_POLICY_EACH;
  std::vector<int> gpu_indices;  // As the user gave them; empty means all.
  int ranks = 1;
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
//   NETWORK  R nodes, one rank each. EACH: consecutive groups of R by name, the last
//            group taking the last R nodes, so that every node is covered.
//                                           ANY: one, on any R nodes.
// Too few nodes or GPUs is a violation that says how many there are.
std::vector<Placement> Place(const PlacementRequest& request, const std::vector<v1::Node>& nodes,
                             Violations& violations);

}  // namespace assay::coordinator
