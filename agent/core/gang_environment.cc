#include "agent/core/gang_environment.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "model/nccl_variables.h"

namespace assay::agent {
namespace {

constexpr char kInterface[] = "NCCL_SOCKET_IFNAME";

bool OnGpus(const v1::JobSpec& job) {
  return std::any_of(job.ranks().begin(), job.ranks().end(),
                     [](const v1::RankPlacement& rank) { return rank.gpu_index() >= 0; });
}

// Returns the numeric address without a scope; empty if it is not an internet address.
std::string Numeric(const sockaddr* address) {
  if (address == nullptr) return "";
  const bool v6 = address->sa_family == AF_INET6;
  if (!v6 && address->sa_family != AF_INET) return "";
  std::array<char, NI_MAXHOST> text{};
  const socklen_t size = v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "";
  }
  const std::string numeric = text.data();
  return numeric.substr(0, numeric.find('%'));
}

}  // namespace

std::map<std::string, std::string> GangEnvironment(const v1::JobSpec& job,
                                                   const std::string& host_id,
                                                   const std::string& advertise_address) {
  std::map<std::string, std::string> environment(job.nccl().begin(), job.nccl().end());
  if (job.node_ids_size() < 2 || !OnGpus(job)) return environment;
  environment[std::string(kNcclHostId)] = host_id;
  if (environment.count(kInterface) > 0 || std::getenv(kInterface) != nullptr) return environment;
  // "=" makes NCCL compare the whole name.
  const std::string interface = InterfaceOf(advertise_address);
  if (!interface.empty()) environment[kInterface] = "=" + interface;
  return environment;
}

std::map<std::string, std::string> EffectiveNccl(const v1::JobSpec& job,
                                                 const std::map<std::string, std::string>& given,
                                                 const std::string& node_id) {
  if (job.world_size() < 2 || !OnGpus(job)) return {};
  std::map<std::string, std::string> nccl = NcclVariablesOf(environ);
  for (const auto& [name, value] : given) {
    if (name != kNcclHostId || value != node_id) nccl[name] = value;
  }
  return nccl;
}

std::string InterfaceOf(const std::string& address) {
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> interfaces(raw, &::freeifaddrs);
  const std::string wanted = address.substr(0, address.find('%'));
  for (const ifaddrs* one = interfaces.get(); one != nullptr; one = one->ifa_next) {
    if (!wanted.empty() && Numeric(one->ifa_addr) == wanted) return one->ifa_name;
  }
  return "";
}

}  // namespace assay::agent
