// Determines which nodes can reach each other and can therefore form a gang (nodes that run one job
// together).
#pragma once

#include <string>
#include <vector>

#include "assay/v1/inventory.pb.h"

namespace assay::campaign {

// Returns the address to store for a node. `address` is the one that the node's agent detected, and
// `peer` is the source of its connection as seen by the coordinator. If the two differ, the node is
// behind NAT, and the result has the form "10.0.0.5 behind 203.0.113.7". Otherwise, or if `peer` is
// empty, loopback or of another IP version, returns `address`.
std::string AddressSeenFrom(const std::string& address, const std::string& peer);

// Returns the network of a node as one string. Nodes can form a gang (run one job together) only if
// their strings are equal:
// - A loopback address reaches only nodes on the same host.
// - An address behind NAT reaches only nodes behind the same public address.
// - Any other address, such as one given by --advertise-address, reaches all others.
std::string GangNetwork(const v1::NodeDescription& node);

// Describes two nodes that share no network and suggests a remedy. Returns an empty string if all
// nodes share a network.
std::string NetworkMismatch(const std::vector<const v1::NodeDescription*>& nodes);

}  // namespace assay::campaign
