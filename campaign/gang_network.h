// Finds out which nodes can reach each other, before they start a gang (nodes that run one job
// together).
#pragma once

#include <string>
#include <vector>

#include "assay/v1/inventory.pb.h"

namespace assay::campaign {

// Returns the advertise_address to store for a node whose agent detected `address` and opened its
// session from the address `peer`, as the coordinator sees it. If the two differ, the node is
// behind NAT, and the result is "10.0.0.5 behind 203.0.113.7". Returns `address` unchanged if
// `peer` is empty (unknown) or loopback (a tunnel or proxy), or if the two are not of the same IP
// version.
std::string AddressSeenFrom(const std::string& address, const std::string& peer);

// Returns the network of a node as one string. Nodes can run a gang together only if their strings
// are equal:
//   - A loopback address reaches only nodes on the same host.
//   - An address that the agent detected behind NAT reaches only nodes behind the same public one.
//   - Every other address, in particular one given by --advertise-address, reaches all others.
std::string GangNetwork(const v1::NodeDescription& node);

// Describes two nodes that share no network, with the remedy. Returns an empty string if all nodes
// share a network.
std::string NetworkMismatch(const std::vector<const v1::NodeDescription*>& nodes);

}  // namespace assay::campaign
