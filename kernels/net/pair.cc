#include "kernels/net/pair.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "gang/greeting.h"
#include "gang/peers.h"

namespace assay {
namespace {

// Accepts `connections` connections and returns them ordered by number. The connecting rank sends
// this number in its first message (the greeting), in place of its rank.
Result<std::vector<Socket>> Accept(const Socket& listener, const std::string& nonce,
                                   int connections, MonotonicTime deadline) {
  std::set<int> numbers;
  for (int i = 0; i < connections; ++i) numbers.insert(i);
  auto accepted = AcceptRanks(listener, nonce, numbers, deadline);
  if (!accepted.ok()) {
    return PeerTimeout("rank 1 did not open all of " + std::to_string(connections) +
                       " connections in time")
        .WithPeer({1});
  }
  std::vector<Socket> sockets;
  for (auto& [number, socket] : *accepted) sockets.push_back(std::move(socket));
  return sockets;
}

Result<std::vector<Socket>> Connect(const MeetingPoint& point, int connections,
                                    MonotonicTime deadline) {
  std::vector<Socket> sockets;
  for (int i = 0; i < connections; ++i) {
    auto socket = ConnectAndGreet(point, {i, Purpose::kMessages}, deadline);
    if (!socket.ok()) return socket.status().WithContext("connection to rank 0").WithPeer({0});
    sockets.push_back(*std::move(socket));
  }
  return sockets;
}

}  // namespace

Result<std::vector<Socket>> ConnectPair(Peers& peers, const std::string& address, int connections,
                                        Duration timeout) {
  const bool listens = peers.rank() == 0;
  MeetingPoint point;
  point.host = address;
  Socket listener;
  const auto listen = [&]() -> Status {
    if (!listens) return Status::Ok();
    ASSAY_ASSIGN_OR_RETURN(point.nonce, NewNonce());
    ASSAY_ASSIGN_OR_RETURN(listener, ListenOn(address, &point.port));
    return Status::Ok();
  };
  ASSAY_RETURN_IF_ERROR(Agree(peers, listen(), timeout));
  std::string where = listens ? point.ToString() : "";
  ASSAY_RETURN_IF_ERROR(peers.Broadcast(&where, timeout));
  ASSAY_ASSIGN_OR_RETURN(const MeetingPoint there, MeetingPoint::Parse(where));
  const MonotonicTime deadline = Clock::Real().Now() + std::min(timeout, kConnectTimeout);
  auto sockets = listens ? Accept(listener, point.nonce, connections, deadline)
                         : Connect(there, connections, deadline);
  ASSAY_RETURN_IF_ERROR(Agree(peers, sockets.status(), timeout));
  for (const Socket& socket : *sockets) NoticeSilence(socket);
  return sockets;
}

}  // namespace assay
