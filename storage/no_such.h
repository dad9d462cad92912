// What is said of a name that nothing has.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"

namespace assay::storage {

// Of so many campaigns, the newest, names are offered instead of one that none has: a
// database that has grown for years is not searched for what was mistyped.
inline constexpr int kOfferedCampaigns = 1000;

// NOT_FOUND: `no node "g31"`. The hint offers the nearest of `names`, of several that are as
// near the first; there is none if nothing is near.
Status NoSuch(const std::string& what, const std::string& name,
              const std::vector<std::string>& names);

}  // namespace assay::storage
