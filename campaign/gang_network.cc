#include "campaign/gang_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "common/host_port.h"
#include "common/text.h"

namespace assay::campaign {
namespace {

constexpr std::string_view kBehind = " behind ";

bool IsLoopbackAddress(const std::string& address) { return HostPort{address, 0}.IsLoopback(); }

bool IsIpv6(const std::string& address) { return address.find(':') != std::string::npos; }

}  // namespace

std::string AddressSeenFrom(const std::string& address, const std::string& peer) {
  const bool comparable = !peer.empty() && !IsLoopbackAddress(peer) && !address.empty() &&
                          !IsLoopbackAddress(address) && IsIpv6(address) == IsIpv6(peer);
  return comparable && address != peer ? fmt::format("{}{}{}", address, kBehind, peer) : address;
}

std::string GangNetwork(const v1::NodeDescription& node) {
  const std::string& address = node.advertise_address();
  if (IsLoopbackAddress(address)) return "host " + node.boot_id();
  const size_t behind = address.rfind(kBehind);
  if (node.advertise_address_given() || behind == std::string::npos) return "";
  return address.substr(behind + kBehind.size());
}

std::string NetworkMismatch(const std::vector<const v1::NodeDescription*>& nodes) {
  if (nodes.empty()) return "";
  const v1::NodeDescription& first = *nodes.front();
  const auto other = std::find_if(nodes.begin(), nodes.end(), [&](const auto* node) {
    return GangNetwork(*node) != GangNetwork(first);
  });
  if (other == nodes.end()) return "";
  return fmt::format(
      "{} at {} and {} at {} cannot reach each other; start their agents with --advertise-address "
      "and an address of a network that they share, such as a VPN",
      first.name(), Cut(first.advertise_address()), (*other)->name(),
      Cut((*other)->advertise_address()));
}

}  // namespace assay::campaign
