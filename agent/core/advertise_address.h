// Where ranks on other nodes reach this one, if nobody says so.
#pragma once

#include <string>

#include "common/status.h"

namespace assay::agent {

// The address from which this machine would speak to `coordinator` (HOST:PORT), or
// else the host of `listen`, unless it means all addresses; or else "127.0.0.1".
std::string AdvertiseAddress(const std::string& coordinator, const std::string& listen);

// Whether ranks can listen on `address`, which was given for it, and others can be told of it.
Status CheckAdvertiseAddress(const std::string& address);

}  // namespace assay::agent
