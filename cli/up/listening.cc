#include "cli/up/listening.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "common/subprocess.h"

namespace assay::cli {
namespace {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;

  int family() const { return storage.ss_family; }
  std::string Bytes() const {
    if (family() == AF_INET) {
      in_addr address = {};
      std::memcpy(&address, &reinterpret_cast<const sockaddr_in&>(storage).sin_addr,
                  sizeof address);
      return {reinterpret_cast<const char*>(&address), sizeof address};
    }
    in6_addr address = {};
    std::memcpy(&address, &reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr,
                sizeof address);
    return {reinterpret_cast<const char*>(&address), sizeof address};
  }
  std::string Host() const {
    char text[INET6_ADDRSTRLEN] = "";
    inet_ntop(family(), Bytes().data(), text, sizeof text);
    return text;
  }
  bool IsAny() const {
    const std::string bytes = Bytes();
    return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
  }
};

// The addresses of `host`, or why there are none.
std::string Find(const std::string& host, int port, std::vector<SocketAddress>& found) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* list = nullptr;
  const int fault = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (fault != 0) return gai_strerror(fault);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    SocketAddress& address = found.emplace_back();
    address.size = one->ai_addrlen;
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
  }
  return found.empty() ? "no address of IPv4 or IPv6" : "";
}

// Where the server listens: on all of these that it can.
std::string AddressesOf(const Listening& server, std::vector<SocketAddress>& found) {
  if (server.address.host == "localhost") {
    // Civetweb takes no names, and Assay one address for it; gRPC both, whatever /etc/hosts says.
    if (server.is_grpc) Find("::1", server.address.port, found);
    return Find("127.0.0.1", server.address.port, found);
  }
  const std::string why = Find(server.address.host, server.address.port, found);
  if (!why.empty() || !server.is_grpc) return why;
  if (std::none_of(found.begin(), found.end(), [](const auto& one) { return one.IsAny(); })) {
    return "";
  }
  found.clear();
  Find("::", server.address.port, found);
  return Find("0.0.0.0", server.address.port, found);
}

// 0, or why nobody could listen there; at both families' address of all interfaces if `dual`.
int Try(const SocketAddress& address, bool dual) {
  const FileDescriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return errno;
  const int on = 1;
  // A port whose last connections are not forgotten yet is free.
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.family() == AF_INET6) {
    const int only = dual && address.IsAny() ? 0 : 1;
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
  }
  const auto* const where = reinterpret_cast<const sockaddr*>(&address.storage);
  return bind(socket.get(), where, address.size) == 0 && listen(socket.get(), 1) == 0 ? 0 : errno;
}

// What a server cannot get over; 0 if one of the addresses will do, as it does for the server.
int Probe(const std::vector<SocketAddress>& addresses, bool dual) {
  int fault = 0;
  for (const SocketAddress& address : addresses) {
    const int found = Try(address, dual);
    if (found == 0) return 0;
    // IPv6 that is not there says nothing of what is.
    if (fault == 0 || found == EADDRINUSE) fault = found;
  }
  return fault;
}

// Of a name's addresses the first that another program has; null if none. A server of gRPC takes
// the rest of them, and its clients dial all.
const SocketAddress* TakenOf(const std::vector<SocketAddress>& addresses) {
  const auto taken =
      std::find_if(addresses.begin(), addresses.end(),
                   [](const SocketAddress& address) { return Try(address, false) == EADDRINUSE; });
  return taken == addresses.end() ? nullptr : &*taken;
}

Status CannotListen(const Listening& server, const std::string& why, const char* reason,
                    const std::string& hint) {
  return InvalidArgument(server.flag + ": " + server.because + why, reason).WithHint(hint);
}

Status PortTaken(const Listening& server, const std::string& where) {
  return CannotListen(server, "another program listens on " + where + " already", "PORT_TAKEN",
                      "`ss -ltnp` says which: end it, or give other ports with --listen and "
                      "--http (0 is any free one)");
}

Status CheckOne(const Listening& server) {
  std::vector<SocketAddress> addresses;
  const std::string unknown = AddressesOf(server, addresses);
  if (!unknown.empty()) {
    return CannotListen(server, "no address is known of " + server.address.host + ": " + unknown,
                        "UNKNOWN_HOST", "give an address of this machine, or 0.0.0.0 for all");
  }
  if (server.address.port == 0) return Status::Ok();
  const std::string port = std::to_string(server.address.port);
  const bool any = addresses.front().IsAny();
  if (server.is_grpc && !any && addresses.size() > 1) {
    if (const SocketAddress* const taken = TakenOf(addresses)) {
      return PortTaken(server, HostPort{taken->Host(), server.address.port}.ToString() +
                                   ", an address of " + server.address.host + ",");
    }
  }
  switch (const int fault = Probe(addresses, server.is_grpc); fault) {
    case 0:
      return Status::Ok();
    case EADDRINUSE:
      return PortTaken(server, any ? "port " + port + " of an address of this machine"
                                   : server.address.ToString());
    case EADDRNOTAVAIL:
      return CannotListen(server, server.address.host + " is no address of this machine",
                          "ADDRESS_NOT_HERE", "`ip address` lists them; 0.0.0.0 is all of them");
    case EACCES:
      return CannotListen(server, "only root may listen on port " + port, "PORT_PRIVILEGED",
                          "give a port from 1024 on");
    default:
      return CannotListen(
          server, "cannot listen on " + server.address.ToString() + ": " + std::strerror(fault),
          "CANNOT_LISTEN", "give another address or port");
  }
}

}  // namespace

bool Collide(const Listening& a, const Listening& b) {
  if (a.address.port == 0 || a.address.port != b.address.port) return false;
  std::vector<SocketAddress> of_a;
  std::vector<SocketAddress> of_b;
  AddressesOf(a, of_a);
  AddressesOf(b, of_b);
  return std::any_of(of_a.begin(), of_a.end(), [&](const SocketAddress& one) {
    return std::any_of(of_b.begin(), of_b.end(), [&](const SocketAddress& other) {
      return one.family() == other.family() &&
             (one.IsAny() || other.IsAny() || one.Bytes() == other.Bytes());
    });
  });
}

Status CheckCanListen(const std::vector<Listening>& servers) {
  for (const Listening& server : servers) ASSAY_RETURN_IF_ERROR(CheckOne(server));
  return Status::Ok();
}

}  // namespace assay::cli
