// Determines which nodes can reach each other and can therefore form a gang (nodes that run one job
// together).
#pragma once

#include <string>
#include <vector>

#include "assay/v1/inventory.pb.h"

namespace assay::campaign {

// Returns the address to store for a node. `address` is the one that the node's agent detected.
// `peer` is the one from which the coordinator sees the agent connect. If they differ, the node is
// behind NAT, and the result is, for example, "10.0.0.5 behind 203.0.113.7". Returns `address`
// alone if they are equal, or if `peer` is empty, loopback or of another IP version.
std::string AddressSeenFrom(const std::string& address, const std::string& peer);

// Returns a string that identifies the network of a node. Nodes can form a gang (run one job
// together) only if their strings are equal. The string depends on the node's address:
//   - A loopback address reaches only nodes on the same host.
//   - An address behind NAT reaches only nodes behind the same public address.
//   - Any other address, such as one given by --advertise-address, reaches all others of this kind.
std::string GangNetwork(const v1::NodeDescription& node);

// Describes two nodes that share no network and suggests a remedy. Returns an empty string if all
// nodes share a network.
std::string NetworkMismatch(const std::vector<const v1::NodeDescription*>& nodes);

}  // namespace assay::campaign
