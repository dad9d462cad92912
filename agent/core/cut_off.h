// Which node of a gang has lost its network.
#pragma once

#include <optional>
#include <string>

#include "assay/v1/job.pb.h"
#include "assay/v1/runner.pb.h"

namespace assay::agent {

struct CutOff {
  // Index in JobSpec.node_names; nullopt if it cannot be told which of two it is.
  std::optional<int> node;
  // With the names of the nodes, for people.
  std::string message;
};

// Returns the conclusion of `rank` when it gives up because of a lost rank; nullopt if no other
// node is silent. A node whose network is dead is silent to all others and finds all others silent,
// so that a rank which finds one silent is as likely to be cut off itself. Hence
//   it hears another node                 the silent ones are cut off, else those that never
//                                         came; the first of them is to blame
//   all others, two or more, are silent   its own node is cut off
//   or never came
//   the same, but one had come alone and  either: the two do not reach each other. The one that is
//   then fell silent; else                late for reasons of its own tells nothing of the link
// Rank 0 hears all ranks and says which of the first two it is, also of its own node, whose
// agent reaches the coordinator as a rule; the others hear rank 0 alone.
std::optional<CutOff> FindCutOff(const v1::RunnerAborted& aborted, int rank,
                                 const v1::JobSpec& spec);

}  // namespace assay::agent
