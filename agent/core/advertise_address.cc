#include "agent/core/advertise_address.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "common/host_port.h"
#include "common/subprocess.h"

namespace assay::agent {
namespace {

constexpr char kLoopback[] = "127.0.0.1";

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// "0.0.0.0" or "::".
bool IsEveryAddress(const addrinfo& address) {
  if (address.ai_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(address.ai_addr)->sin_addr.s_addr == INADDR_ANY;
  }
  return address.ai_family == AF_INET6 &&
         IN6_IS_ADDR_UNSPECIFIED(
             &reinterpret_cast<const sockaddr_in6*>(address.ai_addr)->sin6_addr);
}

// Returns the local address from which this machine reaches `peer`, or an empty string if there is
// no route or the name of `peer` does not resolve. Finds out by connecting a UDP socket, which
// sends no packets but makes the kernel choose the local address.
std::string LocalAddressTowards(const HostPort& peer) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* raw = nullptr;
  if (::getaddrinfo(peer.host.c_str(), std::to_string(peer.port).c_str(), &hints, &raw) != 0) {
    return "";
  }
  const AddressList found(raw, &::freeaddrinfo);
  const FileDescriptor socket(
      ::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, found->ai_protocol));
  sockaddr_storage local{};
  socklen_t size = sizeof local;
  std::array<char, NI_MAXHOST> text{};
  if (!socket.valid() || ::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&local), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&local), size, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0) {
    return "";
  }
  return text.data();
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

std::string AdvertiseAddress(const std::string& coordinator, const std::string& listen) {
  if (const auto peer = ParseHostPort(coordinator); peer.ok()) {
    std::string local = LocalAddressTowards(*peer);
    if (!local.empty()) return local;
  }
  const auto own = ParseHostPort(listen);
  if (!own.ok() || own->host == "0.0.0.0" || own->host == "::") return kLoopback;
  return own->host;
}

Status CheckAdvertiseAddress(const std::string& address) {
  const auto fault = [&](const std::string& what) {
    return InvalidArgument("--advertise-address " + address + ": " + what, Reason::kListenFailed)
        .WithHint(
            "ranks of gangs listen there: give an address of one of this machine's "
            "interfaces that the other nodes reach");
  };
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* raw = nullptr;
  if (const int error = ::getaddrinfo(address.c_str(), "0", &hints, &raw); error != 0) {
    return fault(::gai_strerror(error));
  }
  const AddressList found(raw, &::freeaddrinfo);
  if (IsEveryAddress(*found)) return fault("is every address, and no node is reached by it");
  const FileDescriptor socket(
      ::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, found->ai_protocol));
  if (!socket.valid() || ::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0) {
    return fault(errno == EADDRNOTAVAIL ? "is not this machine's" : std::strerror(errno));
  }
  return Status::Ok();
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
