// Finds the placements (sets of nodes and GPUs) on which the cases of one benchmark may run. Each
// repetition on a placement becomes a job.
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

namespace assay::campaign {

// The placement of one job. Its fields have the same meaning as those of storage::NewJob.
struct Placement {
  int node_count = 1;
  storage::NodeIds candidate_node_ids;
  std::vector<int> gpu_indices;  // GPUs of each node, in rank order.
};

struct Placements {
  std::vector<Placement> list;
  // Number of placements. If it exceeds PlacementRequest::most, the list stays empty.
  int64_t count = 0;
  // The error if there are too few nodes or GPUs for even one placement. Its text says how many are
  // needed and how many there are.
  std::optional<Violation> shortage;
  // Set if there are enough nodes, but too few of them share a network (see gang_network.h).
  std::optional<Violation> no_shared_network;
};

struct PlacementRequest {
  const v1::BenchmarkSchema& schema;
  v1::PlacementPolicy policy = v1::PLACEMENT_POLICY_EACH;
  std::vector<int> gpu_indices;  // As the user gave them; empty means all.
  int ranks = 1;
  int nodes = 1;            // Nodes that a GPU collective's ranks spread over.
  bool mixed_gpus = false;  // If true, a gang's GPUs may be of several models.
  int64_t most = 0;
  // The field and the line of the campaign file where errors are reported.
  std::string path;
  int line = 0;
};

// Returns the nodes that can run this version of the benchmark, sorted by name. If there are none,
// adds a violation with the reason for each node.
std::vector<v1::Node> EligibleNodes(const v1::BenchmarkSchema& schema,
                                    const std::vector<v1::Node>& nodes, const std::string& path,
                                    int line, Violations& violations);

// Returns the placements of a job with `request.ranks` ranks (processes). `nodes` is the result of
// EligibleNodes and must not be empty. EACH covers every node or GPU, ANY makes one placement that
// allows any suitable nodes, and PAIRS covers every pair of nodes. Sets `shortage` or
// `no_shared_network` if there are too few nodes or GPUs. Adds a violation for any other error,
// such as a GPU index that no node has.
Placements PlaceJobs(const PlacementRequest& request, const std::vector<v1::Node>& nodes,
                     Violations& violations);

}  // namespace assay::campaign
