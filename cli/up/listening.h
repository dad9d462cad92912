// Where servers are to listen: whether they can all do so, before any of them is started.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "common/units.h"

namespace assay::cli {

// One address that a server is to listen on. Port 0 is any free one.
struct Listening {
  std::string server;  // "the coordinator's gRPC".
  HostPort address;
  // gRPC takes IPv6 and IPv4 for the address of all interfaces, of either family; HTTP only the
  // family of that address.
  bool is_grpc = false;
  // Whence it is: "--listen 127.0.0.1:7900"; with what makes of that another port, else "".
  std::string flag;
  std::string because;
};

// Whether two servers cannot listen there both: the address of all interfaces takes the port of
// each of its family. Names that cannot be looked up collide with nothing.
bool Collide(const Listening& a, const Listening& b);

// INVALID_ARGUMENT if one cannot listen there, with the flag: a port that is taken (PORT_TAKEN), an
// address that is not this machine's, a name without one, a port that needs privileges. Another
// program may still be faster.
Status CheckCanListen(const std::vector<Listening>& servers);

}  // namespace assay::cli
