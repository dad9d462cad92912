// Selects nodes that can form gangs of GPUs.
#pragma once

#include <vector>

#include "assay/v1/node_service.pb.h"

namespace assay::coordinator {

using Nodes = std::vector<v1::Node>;

std::vector<const v1::NodeDescription*> DescriptionsOf(const Nodes& nodes);

// Groups nodes by the model of their GPUs with these indices.
Nodes OfOneModel(const Nodes& nodes, const std::vector<int>& gpu_indices);

// Returns the largest set of nodes with equal versions and one GPU model at these indices; the
// first such set if two are equally large. If the set has fewer than `size` nodes and `mixed_gpus`
// is true, returns the largest set with equal versions instead.
Nodes LargestUniform(const Nodes& nodes, const std::vector<int>& gpu_indices, size_t size,
                     bool mixed_gpus);

// Splits `nodes` by GPU model, in the order of each model's first node. Models with fewer than
// `size` nodes come last, in one set that is filled up with nodes of other sets if necessary. Every
// set has at least `size` nodes; `nodes` must too.
std::vector<Nodes> SetsByModel(const Nodes& nodes, const std::vector<int>& gpu_indices,
                               size_t size);

}  // namespace assay::coordinator
