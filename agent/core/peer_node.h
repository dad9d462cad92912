// Ranks know each other by number; users know nodes.
#pragma once

#include <optional>
#include <string>

#include "assay/v1/job.pb.h"

namespace assay::agent {

// Index in `spec.node_names` of the node of a rank, if the gang is on several nodes and has it.
std::optional<int> NodeOfRank(int rank, const v1::JobSpec& spec);

// Index in `spec.node_names` of the node of the rank that fell silent by the message, "rank 2
// has not answered", if the gang is on several nodes and has such a rank. Not of "rank 2: no
// answer in time": a message of that rank was waited for, and it may itself wait for another.
std::optional<int> SilentNode(const std::string& message, const v1::JobSpec& spec);

// "rank 2 has not answered" becomes "rank 2 on node g3 has not answered", if the gang is on
// several nodes, of each rank that it has.
std::string NamePeersNodes(const std::string& message, const v1::JobSpec& spec);

// "; not come: rank 1 on node b, rank 3 on node d", of what rank 0 says; empty without any.
std::string NotCome(const google::protobuf::RepeatedField<int32_t>& ranks, const v1::JobSpec& spec);

}  // namespace assay::agent
