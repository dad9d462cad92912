#include "common/host_port.h"

#include <arpa/inet.h>

#include <cstdint>
#include <limits>

#include "common/text.h"
#include "common/units.h"

namespace assay {

bool HostPort::IsLoopback() const {
  if (host == "localhost" || host == "::1") return true;
  in_addr address = {};  // "127.example.com" is a name.
  return host.rfind("127.", 0) == 0 && inet_pton(AF_INET, host.c_str(), &address) == 1;
}

std::string HostPort::ToString() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  return (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<HostPort> ParseHostPort(std::string_view text) {
  const auto bad = [&] {
    return InvalidArgument(Quote(text) + " is not HOST:PORT; write for example 127.0.0.1:7900");
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return bad();
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.front() == '[';
  if (bracketed) {
    if (host.size() < 3 || host.back() != ']') return bad();
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad();  // The port of a bare IPv6 address is ambiguous.
  }
  const auto port = ParseInteger(text.substr(colon + 1));
  if (!port.ok() || *port < 0 || *port > std::numeric_limits<uint16_t>::max()) return bad();
  return HostPort{std::string(host), static_cast<int>(*port)};
}

}  // namespace assay
