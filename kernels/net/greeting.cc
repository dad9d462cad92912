#include "kernels/net/greeting.h"

#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "common/units.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

constexpr char kMagic[] = "assay-rank/1 ";
constexpr size_t kNonceSize = 32;
constexpr size_t kRankSize = 8;  // Decimal, padded with zeros.
constexpr size_t kGreetingSize = sizeof kMagic - 1 + kNonceSize + kRankSize;
// Connections that have not greeted yet; beyond it the oldest is dropped.
constexpr size_t kMaxPending = 64;
constexpr char kWelcome = 'w';

std::string Greeting(const std::string& nonce, int rank) {
  const std::string digits = std::to_string(rank);
  return kMagic + nonce + std::string(kRankSize - digits.size(), '0') + digits;
}

// Takes the same time wherever the texts differ.
bool SameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

// A connection that has not said its greeting yet.
struct Pending {
  Socket socket;
  std::string said;
};

// Reads on. False if the connection is to be dropped.
bool Advance(Pending* pending) {
  char chunk[kGreetingSize];
  const auto got = ReceiveSome(pending->socket, chunk, kGreetingSize - pending->said.size());
  if (!got.ok()) return false;
  pending->said.append(chunk, *got);
  return true;
}

// The rank that a whole greeting names, -1 if it is not one of ours.
int RankOf(const std::string& said, const std::string& nonce) {
  const size_t prefix = kGreetingSize - kRankSize;
  const auto rank = ParseInteger(said.substr(prefix));
  if (!rank.ok() || *rank < 0 || *rank > 1'000'000) return -1;
  const int value = static_cast<int>(*rank);
  return SameSecret(said, Greeting(nonce, value)) ? value : -1;
}

void AcceptAllWaiting(const Socket& listener, std::vector<Pending>* pending) {
  for (;;) {
    auto accepted = AcceptWaiting(listener);
    if (!accepted.ok() || !accepted->valid()) return;
    if (pending->size() == kMaxPending) pending->erase(pending->begin());
    pending->push_back({std::move(accepted).value(), ""});
  }
}

}  // namespace

Result<std::string> NewNonce() {
  unsigned char random[kNonceSize / 2];
  if (getrandom(random, sizeof random, 0) != sizeof random) {
    return Internal("the system gave no random bytes");
  }
  std::string text;
  for (const unsigned char byte : random) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string MeetingPoint::ToString() const { return HostPort{host, port}.ToString() + "/" + nonce; }

Result<MeetingPoint> MeetingPoint::Parse(const std::string& text) {
  const size_t slash = text.rfind('/');
  const Status bad = InvalidArgument("a rendezvous token is HOST:PORT/NONCE", "BAD_TOKEN");
  if (slash == std::string::npos || text.size() - slash - 1 != kNonceSize) return bad;
  const auto address = ParseHostPort(std::string_view(text).substr(0, slash));
  if (!address.ok() || address->port == 0) return bad;
  return MeetingPoint{address->host, address->port, text.substr(slash + 1)};
}

Result<std::map<int, Socket>> AcceptRanks(const Socket& listener, const std::string& nonce,
                                          std::set<int> ranks, MonotonicTime deadline) {
  std::map<int, Socket> arrived;
  std::vector<Pending> pending;
  while (!ranks.empty()) {
    std::vector<pollfd> entries = {{listener.fd(), POLLIN, 0}};
    for (const Pending& one : pending) entries.push_back({one.socket.fd(), POLLIN, 0});
    poll(entries.data(), entries.size(), PollMillis(deadline));
    if (Clock::Real().Now() >= deadline) {
      return PeerTimeout("rank " + std::to_string(*ranks.begin()) + " did not connect in time");
    }
    std::vector<Pending> still_pending;
    for (size_t i = 0; i < pending.size(); ++i) {
      Pending& one = pending[i];
      if (entries[i + 1].revents != 0 && !Advance(&one)) continue;
      if (one.said.size() < kGreetingSize) {
        still_pending.push_back(std::move(one));
        continue;
      }
      const int rank = RankOf(one.said, nonce);
      if (ranks.count(rank) == 0) continue;
      if (!SendAll(one.socket, &kWelcome, 1, deadline).ok()) continue;
      ranks.erase(rank);
      arrived.emplace(rank, std::move(one.socket));
    }
    pending = std::move(still_pending);
    if (entries[0].revents != 0) AcceptAllWaiting(listener, &pending);
  }
  return arrived;
}

Result<Socket> ConnectAndGreet(const MeetingPoint& point, int rank, MonotonicTime deadline) {
  const std::string greeting = Greeting(point.nonce, rank);
  Status last;
  for (Duration pause = 1ms;; pause = std::min<Duration>(2 * pause, 200ms)) {
    auto socket = ConnectTo(point.host, point.port, deadline);
    last = socket.status();
    if (socket.ok()) {
      last = SendAll(*socket, greeting.data(), greeting.size(), deadline);
      char answer = 0;
      if (last.ok()) last = ReceiveAll(*socket, &answer, 1, deadline);
      if (last.ok() && answer == kWelcome) return std::move(socket).value();
    }
    if (Clock::Real().Now() + pause >= deadline) break;
    std::this_thread::sleep_for(pause);
  }
  return PeerTimeout(HostPort{point.host, point.port}.ToString() + " did not welcome rank " +
                     std::to_string(rank) + " in time" + (last.ok() ? "" : ": " + last.message()));
}

}  // namespace assay
