#include "common/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace assay {
namespace {

constexpr int kBacklog = 1024;

int PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  // sin_port and sin6_port lie at the same place.
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

// Returns an invalid descriptor, with errno set, if the address cannot be listened on.
FileDescriptor Open(const addrinfo& one, int port) {
  FileDescriptor listener(socket(one.ai_family, one.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return listener;
  const int on = 1;
  const int off = 0;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (one.ai_family == AF_INET6) {
    setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  sockaddr_storage address{};
  std::memcpy(&address, one.ai_addr, one.ai_addrlen);
  reinterpret_cast<sockaddr_in&>(address).sin_port = htons(static_cast<uint16_t>(port));
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), one.ai_addrlen) != 0 ||
      listen(listener.get(), kBacklog) != 0) {
    return FileDescriptor();
  }
  return listener;
}

}  // namespace

Result<Listener> ListenOn(const HostPort& address) {
  const auto failed = [&](const std::string& why) {
    return InvalidArgument("cannot listen on " + address.ToString() + ": " + why,
                           Reason::kAddressInUse)
        .WithHint("stop the program that listens there, or choose another address");
  };
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(address.host.c_str(), nullptr, &hints, &found); error != 0) {
    return failed(gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  Listener listener{address, {}};
  std::string why;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    FileDescriptor socket = Open(*one, listener.address.port);
    if (!socket.valid()) {
      why = std::strerror(errno);
      continue;
    }
    listener.address.port = PortOf(socket.get());
    listener.sockets.push_back(std::move(socket));
  }
  if (listener.sockets.empty()) return failed(why);
  return listener;
}

}  // namespace assay
