// Ranks know each other by number; users know nodes.
#pragma once

#include <string>

#include "assay/v1/job.pb.h"

namespace assay::agent {

// "rank 2 has not answered" becomes "rank 2 on node g3 has not answered", if the gang of
// `spec` is on several nodes and the message begins with one of its ranks.
std::string NamePeersNode(const std::string& message, const v1::JobSpec& spec);

}  // namespace assay::agent
