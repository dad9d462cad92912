#include "gang/peers.h"

#include <poll.h>

#include <chrono>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "common/framing.h"
#include "common/text.h"
#include "gang/contacts.h"
#include "gang/greeting.h"
#include "gang/socket.h"
#include "gang/tls.h"

namespace assay {
namespace {

// The connections to one other rank.
struct Link {
  Socket socket;  // Carries frames.
  FrameDecoder decoder;
  Socket heartbeats;
};

// Adds to `error` that it concerns the connection to `rank`.
Status OfPeer(int rank, const Status& error) {
  return error.WithContext("rank " + std::to_string(rank)).WithPeer({rank});
}

// Returns the next frame; nullopt if it has not arrived completely.
Result<std::optional<std::string>> Poll(Link* link) {
  ASSAY_ASSIGN_OR_RETURN(std::optional<std::string> frame, link->decoder.Next());
  if (frame) return frame;
  char chunk[65536];
  ASSAY_ASSIGN_OR_RETURN(const size_t got, ReceiveSome(link->socket, chunk, sizeof chunk));
  link->decoder.Append(std::string_view(chunk, got));
  return link->decoder.Next();
}

class TcpPeers : public Peers {
 public:
  // At rank 0, `sockets` contains the connections to all other ranks; at any other rank, those to
  // rank 0.
  TcpPeers(int rank, int world_size, std::map<Caller, Socket>&& sockets)
      : rank_(rank), world_size_(world_size) {
    for (auto& [peer, socket] : sockets) {
      NoticeSilence(socket);
      Link& link = links_[peer.rank];
      (peer.purpose == Purpose::kMessages ? link.socket : link.heartbeats) = std::move(socket);
    }
  }

  int rank() const override { return rank_; }
  int world_size() const override { return world_size_; }

  std::vector<PeerConnection> Heartbeats() const override {
    std::vector<PeerConnection> connections;
    for (const auto& [peer, link] : links_) connections.push_back({peer, &link.heartbeats});
    return connections;
  }

  Status Barrier(Duration timeout) override {
    ASSAY_RETURN_IF_ERROR(Gather("", timeout).status());
    std::string nothing;
    return Broadcast(&nothing, timeout);
  }

  Status Broadcast(std::string* bytes, Duration timeout) override {
    const MonotonicTime deadline = Clock::Real().Now() + timeout;
    if (rank_ == 0) return SendToAll(*bytes, deadline);
    ASSAY_ASSIGN_OR_RETURN(auto received, ReceiveFromAll(deadline));
    *bytes = std::move(received[0]);
    return Status::Ok();
  }

  Result<std::vector<std::string>> Gather(std::string_view bytes, Duration timeout) override {
    const MonotonicTime deadline = Clock::Real().Now() + timeout;
    if (rank_ != 0) {
      ASSAY_RETURN_IF_ERROR(SendToAll(bytes, deadline));
      return std::vector<std::string>();
    }
    ASSAY_ASSIGN_OR_RETURN(auto received, ReceiveFromAll(deadline));
    received[0] = std::string(bytes);
    return received;
  }

  // Does not read the frames that have arrived.
  Status Check() const override {
    for (const auto& [peer, link] : links_) {
      pollfd entry = {link.socket.fd(), POLLRDHUP, 0};
      const bool ended = poll(&entry, 1, 0) > 0 &&
                         (entry.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
      if (ended) return OfPeer(peer, PeerLost("the connection ended"));
    }
    return Status::Ok();
  }

 private:
  Status SendToAll(std::string_view bytes, MonotonicTime deadline) {
    if (bytes.size() > kMaxFrameBytes) return InvalidArgument("too many bytes for one message");
    const std::string frame = EncodeFrame(bytes);
    for (auto& [peer, link] : links_) {
      const Status sent = SendAll(link.socket, frame.data(), frame.size(), deadline);
      if (!sent.ok()) return OfPeer(peer, sent);
    }
    return Status::Ok();
  }

  // Receives one frame from every connected rank. Watches all connections at once, so that a lost
  // rank is noticed even while waiting for others.
  Result<std::vector<std::string>> ReceiveFromAll(MonotonicTime deadline) {
    std::vector<std::string> received(static_cast<size_t>(world_size_));
    std::set<int> missing;
    for (const auto& [peer, link] : links_) missing.insert(peer);
    for (;;) {
      std::vector<pollfd> entries;
      for (auto peer = missing.begin(); peer != missing.end();) {
        Link& link = links_[*peer];
        auto frame = Poll(&link);
        if (!frame.ok()) return OfPeer(*peer, frame.status());
        if (frame->has_value()) {
          received[static_cast<size_t>(*peer)] = std::move(**frame);
          peer = missing.erase(peer);
        } else {
          entries.push_back({link.socket.fd(), POLLIN, 0});
          ++peer;
        }
      }
      if (missing.empty()) return received;
      if (Clock::Real().Now() >= deadline) {
        const int first = *missing.begin();
        missing.erase(first);
        return OfPeer(first, PeerTimeout("no answer in time" +
                                         (missing.empty() ? "" : ", nor of " + EachRank(missing))));
      }
      poll(entries.data(), entries.size(), PollMillis(deadline));
    }
  }

  const int rank_;
  const int world_size_;
  std::map<int, Link> links_;
};

class TcpRendezvous : public Rendezvous {
 public:
  TcpRendezvous(Socket listener, std::string token, std::unique_ptr<GangTls> tls)
      : listener_(std::move(listener)), token_(std::move(token)), tls_(std::move(tls)) {}

  const std::string& token() const override { return token_; }

  Result<std::unique_ptr<Peers>> Accept(int world_size, const std::vector<int>& processes,
                                        Duration timeout) override {
    std::set<Caller> callers;
    for (int rank = 1; rank < world_size; ++rank) {
      for (const Purpose purpose : kPurposes) callers.insert({rank, purpose});
    }
    const MonotonicTime deadline = Clock::Real().Now() + timeout;
    ASSAY_RETURN_IF_ERROR(AcceptCallers(listener_, "", std::move(callers),
                                        {processes, {}, tls_.get()}, deadline, &arrived_));
    return std::unique_ptr<Peers>(new TcpPeers(0, world_size, std::move(arrived_)));
  }

  std::vector<PeerConnection> Arrived() const override {
    std::vector<PeerConnection> connections;
    // Return one connection per rank. In the map, a rank's heartbeat connection comes after its
    // message connection and therefore replaces it in the list.
    for (const auto& [caller, socket] : arrived_) {
      if (connections.empty() || connections.back().rank != caller.rank) {
        connections.push_back({caller.rank, nullptr});
      }
      connections.back().socket = &socket;
    }
    return connections;
  }

 private:
  const Socket listener_;
  const std::string token_;
  const std::unique_ptr<GangTls> tls_;
  std::map<Caller, Socket> arrived_;
};

// The fields of a Status as sent from one rank to another, followed by the message text. The bytes
// of this struct can be sent as they are, because all ranks run the same build.
struct StatusHeader {
  Code code;
  Reason reason;
  int rank;
  int peer;
  int64_t silence_ms;
};

std::string EncodeStatus(const Status& status) {
  const StatusHeader header = {status.code(), status.reason(), status.rank(), status.peer().rank,
                               status.peer().silence.count()};
  std::string bytes(sizeof header, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes + status.message();
}

Status DecodeStatus(const std::string& bytes) {
  StatusHeader header{};
  if (bytes.size() < sizeof header) return Internal("an unreadable status", Reason::kBadMessage);
  std::memcpy(&header, bytes.data(), sizeof header);
  return Status(header.code, header.reason, bytes.substr(sizeof header))
      .WithRank(header.rank)
      .WithPeer({header.peer, std::chrono::milliseconds(header.silence_ms)});
}

}  // namespace

Result<std::vector<std::string>> AllGather(Peers& peers, std::string_view bytes, Duration timeout) {
  ASSAY_ASSIGN_OR_RETURN(auto gathered, peers.Gather(bytes, timeout));
  std::string packed;
  for (const std::string& one : gathered) packed += EncodeFrame(one);
  ASSAY_RETURN_IF_ERROR(peers.Broadcast(&packed, timeout));
  FrameDecoder decoder;
  decoder.Append(packed);
  std::vector<std::string> all;
  for (int rank = 0; rank < peers.world_size(); ++rank) {
    ASSAY_ASSIGN_OR_RETURN(auto frame, decoder.Next());
    if (!frame) return Internal("rank 0 sent fewer messages than ranks", Reason::kBadMessage);
    all.push_back(std::move(*frame));
  }
  return all;
}

Status Agree(Peers& peers, const Status& mine, Duration timeout) {
  const auto all = AllGather(peers, EncodeStatus(mine), timeout);
  // The ranks could not exchange their statuses. If this rank's own status is a timeout, return
  // that instead of the exchange's error, because it says more about the cause.
  if (!all.ok()) return mine.code() == Code::kDeadlineExceeded ? mine : all.status();
  Status agreed;
  for (size_t rank = 0; rank < all->size(); ++rank) {
    const Status status = DecodeStatus((*all)[rank]);
    // PEER_LOST is usually a consequence of another rank's error, so any other error takes
    // precedence.
    if (status.ok() || (!agreed.ok() && status.reason() == Reason::kPeerLost)) continue;
    // An error from an earlier Agree() keeps its rank number.
    agreed = status.rank() >= 0 ? status : status.WithRank(static_cast<int>(rank));
    if (agreed.reason() != Reason::kPeerLost) break;
  }
  return agreed;
}

Result<std::unique_ptr<Rendezvous>> ListenForPeers(const std::string& address) {
  MeetingPoint point;
  point.host = address;
  ASSAY_ASSIGN_OR_RETURN(point.key, NewKey());
  ASSAY_ASSIGN_OR_RETURN(auto tls, GangTls::Create(point.key));
  ASSAY_ASSIGN_OR_RETURN(Socket listener, ListenOn(address, &point.port));
  return std::unique_ptr<Rendezvous>(
      new TcpRendezvous(std::move(listener), point.ToString(), std::move(tls)));
}

Result<std::unique_ptr<Peers>> JoinPeers(const std::string& token, int rank, int world_size,
                                         Duration timeout) {
  ASSAY_ASSIGN_OR_RETURN(const MeetingPoint point, MeetingPoint::Parse(token));
  if (point.key.empty()) return BadToken();
  ASSAY_ASSIGN_OR_RETURN(const auto tls, GangTls::Create(point.key));
  const MonotonicTime deadline = Clock::Real().Now() + timeout;
  std::map<Caller, Socket> sockets;
  for (const Purpose purpose : kPurposes) {
    bool host_answers = false;
    auto socket = ConnectAndGreet(point, {rank, purpose}, deadline, &host_answers, tls.get());
    if (!socket.ok() && host_answers) return PeerFrozen(0, timeout);
    if (!socket.ok()) return OfPeer(0, socket.status());
    sockets[{0, purpose}] = std::move(*socket);
  }
  return std::unique_ptr<Peers>(new TcpPeers(rank, world_size, std::move(sockets)));
}

}  // namespace assay
