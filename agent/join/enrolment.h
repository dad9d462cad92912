// The identity of a node that has joined a fleet, in DATA/identity.
#pragma once

#include <string>

#include "agent/options.h"
#include "common/status.h"
#include "host/rental.h"

namespace assay::agent {

// Returns the folder of the identity in an agent's data folder.
std::string IdentityFolder(const std::string& data);

// Returns INVALID_ARGUMENT if the identity is not a node's.
Status CheckRole(const identity::Enrolled& enrolled);

// Uses what this machine's provider says for options that are not given.
void UseRental(const Rental& rental, AgentOptions* options);

// Uses the identity in the data folder if there is one and no TLS files are given: its certificate,
// and its coordinators if none are given. Renews a certificate that has expired. Returns an error
// if the identity cannot be used on this machine, or if the coordinator refuses the renewal.
Status UseEnrolment(const Rental& rental, AgentOptions* options);

}  // namespace assay::agent
