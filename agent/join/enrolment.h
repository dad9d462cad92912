// Loads the identity of a node that has joined a fleet. It is stored in DATA/identity.
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

// Fills options that were not given with the facts that this machine's cloud provider states.
void UseRental(const Rental& rental, AgentOptions* options);

// Uses the identity in the data folder, if there is one and the user specified no TLS files: sets
// the TLS files in `options` to those of the identity and, unless the user specified coordinators,
// does the same for the coordinators. Renews the certificate if it has expired. Fails if the
// identity cannot be used on this machine or the coordinator refuses the renewal.
Status UseEnrolment(const Rental& rental, AgentOptions* options);

}  // namespace assay::agent
