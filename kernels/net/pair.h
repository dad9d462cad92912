// TCP connections between the two ranks of a gang of two.
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "gang/socket.h"
#include "gang/peers.h"

namespace assay {

// Called by both ranks at about the same time: rank 0 listens on `address`, rank 1 connects.
// The connections have the same order at both ranks.
Result<std::vector<Socket>> ConnectPair(Peers& peers, const std::string& address, int connections,
                                        Duration timeout);

}  // namespace assay
