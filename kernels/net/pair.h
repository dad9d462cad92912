// Opens TCP connections between the two ranks of a benchmark that runs on two nodes.
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "gang/peers.h"
#include "gang/socket.h"

namespace assay {

// Opens `connections` TCP connections between two ranks, which must call this at about the same
// time. Rank 0 listens on `address` and sends the resulting address over `peers` to rank 1, which
// connects to it. Both ranks receive the connections in the same order.
Result<std::vector<Socket>> ConnectPair(Peers& peers, const std::string& address, int connections,
                                        Duration timeout);

}  // namespace assay
