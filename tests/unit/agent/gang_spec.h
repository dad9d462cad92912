// Jobs on several nodes, as an agent is assigned them.
#pragma once

#include <initializer_list>

#include "assay/v1/job.pb.h"

namespace assay::agent {

// `world_size` ranks on the nodes with these names.
inline v1::JobSpec GangOf(int world_size, std::initializer_list<const char*> nodes) {
  v1::JobSpec spec;
  spec.set_world_size(world_size);
  for (const char* node : nodes) spec.add_node_names(node);
  return spec;
}

}  // namespace assay::agent
