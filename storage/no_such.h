// Errors for unknown names.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"

namespace assay::storage {

// Number of campaigns, newest first, that are searched for a similar name. Bounds the query on a
// database that has grown for years.
inline constexpr int kOfferedCampaigns = 1000;

// Returns NOT_FOUND: `no node "g31"`. The hint is the closest of `names`, if one is close.
Status NoSuch(const std::string& what, const std::string& name,
              const std::vector<std::string>& names);

}  // namespace assay::storage
