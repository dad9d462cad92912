// Which nodes of a fleet go together in gangs of GPUs.
#pragma once

#include <vector>

#include "assay/v1/node_service.pb.h"

namespace assay::coordinator {

using Nodes = std::vector<v1::Node>;

std::vector<const v1::NodeDescription*> DescriptionsOf(const Nodes& nodes);

// The nodes whose own GPUs with these indices are of one model.
Nodes OfOneModel(const Nodes& nodes, const std::vector<int>& gpu_indices);

// The largest set of nodes that have the same versions and, in these GPUs, one model; the
// first in order if two are. If it has fewer than `size` and `mixed_gpus`, the largest that
// has the same versions.
Nodes LargestUniform(const Nodes& nodes, const std::vector<int>& gpu_indices, size_t size,
                     bool mixed_gpus);

// The nodes of each model of GPU apart, in the order of its first. Models of fewer than
// `size` nodes come last and together, with others, which then stand twice, if need be:
// every set has `size` nodes, of which `nodes` has as many at least.
std::vector<Nodes> SetsByModel(const Nodes& nodes, const std::vector<int>& gpu_indices,
                               size_t size);

}  // namespace assay::coordinator
