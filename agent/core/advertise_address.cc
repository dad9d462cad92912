#include "agent/core/advertise_address.h"

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <memory>

#include "common/subprocess.h"
#include "common/units.h"

namespace assay::agent {
namespace {

constexpr char kLoopback[] = "127.0.0.1";

// Connecting a datagram socket sends nothing, but makes the kernel choose the local
// address. Empty if the name does not resolve or there is no route.
std::string LocalAddressTowards(const HostPort& peer) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* raw = nullptr;
  if (::getaddrinfo(peer.host.c_str(), std::to_string(peer.port).c_str(), &hints, &raw) != 0) {
    return "";
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> found(raw, &::freeaddrinfo);
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

}  // namespace

std::string AdvertiseAddress(const std::string& coordinator, const std::string& listen) {
  if (const auto peer = ParseHostPort(coordinator); peer.ok()) {
    const std::string local = LocalAddressTowards(*peer);
    if (!local.empty()) return local;
  }
  const auto own = ParseHostPort(listen);
  if (!own.ok() || own->host == "0.0.0.0" || own->host == "::") return kLoopback;
  return own->host;
}

}  // namespace assay::agent
