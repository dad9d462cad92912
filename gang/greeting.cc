#include "gang/greeting.h"

#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/host_port.h"
#include "common/text.h"
#include "common/units.h"
#include "gang/contacts.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

// The first bytes of a greeting, which is the first message on a connection between two ranks. They
// identify the purpose of the connection, and are followed directly by the nonce (a secret random
// number) and the rank number. On an encrypted connection, the nonce is empty.
constexpr std::string_view kMessagesMagic = "assay-rank/1 ";
constexpr std::string_view kHeartbeatsMagic = "assay-beat/1 ";
constexpr size_t kMagicSize = kMessagesMagic.size();
static_assert(kHeartbeatsMagic.size() == kMagicSize);
constexpr size_t kNonceSize = 32;
constexpr size_t kKeySize = 64;
constexpr size_t kRankSize = 8;  // Decimal, padded with zeros.
// Maximum number of connections that have yet to send their greeting. At this limit, DropOne()
// drops an old connection for each new one.
constexpr size_t kMaxPending = 64;
// Maximum number of connections accepted in a row. Without this limit, strangers who connect
// nonstop could keep this rank from reading the greetings of other ranks.
constexpr int kMostAccepted = 64;
// Extension of the deadline, granted once, for connections that have not finished their greeting.
constexpr Duration kLastChance = 500ms;
constexpr char kWelcome = 'w';

size_t GreetingSize(const std::string& nonce) { return kMagicSize + nonce.size() + kRankSize; }

std::string Greeting(const std::string& nonce, const Caller& caller) {
  const std::string digits = std::to_string(caller.rank);
  const bool messages = caller.purpose == Purpose::kMessages;
  return std::string(messages ? kMessagesMagic : kHeartbeatsMagic) + nonce +
         std::string(kRankSize - digits.size(), '0') + digits;
}

// Compares two secrets in a time that does not depend on where they differ.
bool SameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

// A connection that has not sent its greeting yet.
struct Pending {
  Socket socket;
  std::string address;  // Of the other end.
  MonotonicTime patience;
  std::string said;
};

// Continues reading a greeting of `size` bytes. Returns false if the connection must be dropped.
bool Advance(Pending* pending, size_t size, MonotonicTime now) {
  char chunk[kMagicSize + kNonceSize + kRankSize];
  const auto got = ReceiveSome(pending->socket, chunk, size - pending->said.size());
  if (!got.ok()) return false;
  pending->said.append(chunk, *got);
  return pending->said.size() == size || now < pending->patience;
}

// Returns the rank and purpose in the greeting `said`, which must be complete, or nullopt if the
// greeting is not valid for this gang.
std::optional<Caller> CallerOf(const std::string& said, const std::string& nonce) {
  const auto rank = ParseInteger(said.substr(said.size() - kRankSize));
  if (!rank.ok() || *rank < 0 || *rank > 1'000'000) return std::nullopt;
  for (const Purpose purpose : kPurposes) {
    const Caller caller = {static_cast<int>(*rank), purpose};
    if (SameSecret(said, Greeting(nonce, caller))) return caller;
  }
  return std::nullopt;
}

// Makes room for a new connection by dropping the oldest one from the address with the most
// connections.
void DropOne(std::vector<Pending>* pending) {
  std::map<std::string, int> counts;
  for (const Pending& one : *pending) ++counts[one.address];
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  pending->erase(std::find_if(pending->begin(), pending->end(),
                              [&](const Pending& one) { return one.address == most->first; }));
}

void AcceptWaitingOnes(const Socket& listener, const AcceptWatch& watch,
                       std::vector<Pending>* pending) {
  for (int i = 0; i < kMostAccepted; ++i) {
    auto accepted = AcceptWaiting(listener);
    if (!accepted.ok() || !accepted->valid()) return;
    if (watch.tls != nullptr && !watch.tls->Accept(&*accepted).ok()) continue;
    if (pending->size() == kMaxPending) DropOne(pending);
    std::string address = AddressOfPeer(*accepted);
    pending->push_back({std::move(accepted).value(), std::move(address),
                        Clock::Real().Now() + watch.greeting_patience, ""});
  }
}

Status NotConnected(const std::set<Caller>& missing) {
  std::set<int> ranks;
  for (const Caller& caller : missing) ranks.insert(caller.rank);
  const int first = *ranks.begin();
  ranks.erase(first);
  return PeerTimeout("rank " + std::to_string(first) + " did not connect in time" +
                     (ranks.empty() ? "" : ", nor did " + EachRank(ranks)))
      .WithPeer({first});
}

// Returns random hexadecimal digits.
Result<std::string> RandomDigits(size_t count) {
  std::string bytes(count / 2, '\0');
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Internal("the system gave no random bytes");
  }
  std::string digits;
  for (const char byte : bytes) {
    digits += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

// A monitor of the hosts of ranks that have already connected, while this rank waits for the
// others. If the network between two hosts fails, the ranks on both must notice at about the same
// time. Otherwise only one of them would report the failure.
class ArrivedHosts {
 public:
  explicit ArrivedHosts(const HeartbeatRule& rule) : rule_(rule) {}

  void Add(const Caller& caller, const Socket& socket) {
    NoticeSilentHost(socket);
    if (caller.purpose != Purpose::kHeartbeats) return;
    NoticeSilence(socket);
    if (hosts_.empty()) next_check_ = Clock::Real().Now() + rule_.interval;
    hosts_.push_back({caller.rank, socket.fd()});
  }

  MonotonicTime next_check() const { return next_check_; }

  Status Check() {
    const MonotonicTime now = Clock::Real().Now();
    if (now < next_check_) return Status::Ok();
    next_check_ = now + rule_.interval;
    for (Host& host : hosts_) ASSAY_RETURN_IF_ERROR(CheckHost(&host));
    return Status::Ok();
  }

 private:
  struct Host {
    int rank;
    int fd;
    int silent = 0;     // Consecutive checks without an answer.
    bool left = false;  // It closed its connection; its agent reports why.
  };

  Status CheckHost(Host* host) const {
    const std::optional<Duration> silence = SilenceOf(host->fd);
    if (host->left || !silence) return Status::Ok();
    pollfd entry = {host->fd, POLLRDHUP, 0};
    const bool ended = poll(&entry, 1, 0) > 0;
    host->left = ended && *silence < kSilentAfter;
    if (host->left) return Status::Ok();
    host->silent = ended || *silence >= rule_.host_patience ? host->silent + 1 : 0;
    // A single unanswered check does not prove that the other host is silent, because this process
    // or its own host may have just been suspended.
    return host->silent > 1 ? PeerUnreachable(host->rank, *silence) : Status::Ok();
  }

  const HeartbeatRule rule_;
  std::vector<Host> hosts_;
  MonotonicTime next_check_ = MonotonicTime::max();
};

}  // namespace

Result<std::string> NewNonce() { return RandomDigits(kNonceSize); }

Result<std::string> NewKey() { return RandomDigits(kKeySize); }

std::string MeetingPoint::ToString() const {
  return HostPort{host, port}.ToString() + "/" + nonce + key;
}

Result<MeetingPoint> MeetingPoint::Parse(const std::string& text) {
  const size_t slash = text.rfind('/');
  if (slash == std::string::npos) return BadToken();
  const std::string secret = text.substr(slash + 1);
  if (secret.size() != kNonceSize && secret.size() != kKeySize) return BadToken();
  const auto address = ParseHostPort(std::string_view(text).substr(0, slash));
  if (!address.ok() || address->port == 0) return BadToken();
  const bool is_key = secret.size() == kKeySize;
  return MeetingPoint{address->host, address->port, is_key ? "" : secret, is_key ? secret : ""};
}

Status BadToken() {
  return InvalidArgument("a rendezvous token is HOST:PORT/SECRET", Reason::kBadToken);
}

Status AcceptCallers(const Socket& listener, const std::string& nonce, std::set<Caller> callers,
                     const AcceptWatch& watch, MonotonicTime deadline,
                     std::map<Caller, Socket>* arrived) {
  const auto process_count = static_cast<std::ptrdiff_t>(watch.processes.size());
  const size_t greeting_size = GreetingSize(nonce);
  std::vector<Pending> pending;  // In the order of their time limits.
  ArrivedHosts hosts(watch.hosts);
  bool last_chance = false;
  while (!callers.empty()) {
    std::vector<pollfd> entries;
    for (const int process : watch.processes) entries.push_back({process, POLLIN, 0});
    entries.push_back({listener.fd(), POLLIN, 0});
    for (const Pending& one : pending) entries.push_back({one.socket.fd(), POLLIN, 0});
    MonotonicTime next = std::min(deadline, hosts.next_check());
    if (!pending.empty()) next = std::min(next, pending.front().patience);
    poll(entries.data(), entries.size(), PollMillis(next));
    const MonotonicTime now = Clock::Real().Now();
    const bool left = std::any_of(entries.begin(), entries.begin() + process_count,
                                  [](const pollfd& process) { return process.revents != 0; });
    // Accept the ranks that have already connected even if the deadline has passed, because this
    // rank itself may have been delayed.
    AcceptWaitingOnes(listener, watch, &pending);
    std::vector<Pending> still_pending;
    for (Pending& one : pending) {
      if (!Advance(&one, greeting_size, now)) continue;
      if (one.said.size() < greeting_size) {
        still_pending.push_back(std::move(one));
        continue;
      }
      const std::optional<Caller> caller = CallerOf(one.said, nonce);
      if (!caller || callers.count(*caller) == 0) continue;
      if (!SendAll(one.socket, &kWelcome, 1, deadline).ok()) continue;
      callers.erase(*caller);
      hosts.Add(*caller, one.socket);
      arrived->emplace(*caller, std::move(one.socket));
    }
    pending = std::move(still_pending);
    if (callers.empty()) break;
    if (now >= deadline) {
      // The deadline has passed, but this rank itself may be late. If so, other ranks may have
      // connected in time and still be sending their greetings, because an encrypted greeting takes
      // a round trip. Extend the deadline for them once.
      if (last_chance || pending.empty()) return NotConnected(callers);
      last_chance = true;
      deadline = now + kLastChance;
    }
    if (left) return PeerLost("a rank ended before all had connected");
    ASSAY_RETURN_IF_ERROR(hosts.Check());
  }
  return Status::Ok();
}

Result<std::map<int, Socket>> AcceptRanks(const Socket& listener, const std::string& nonce,
                                          const std::set<int>& ranks, MonotonicTime deadline) {
  std::set<Caller> callers;
  for (const int rank : ranks) callers.insert({rank, Purpose::kMessages});
  std::map<Caller, Socket> accepted;
  ASSAY_RETURN_IF_ERROR(
      AcceptCallers(listener, nonce, std::move(callers), {}, deadline, &accepted));
  std::map<int, Socket> arrived;
  for (auto& [caller, socket] : accepted) arrived.emplace(caller.rank, std::move(socket));
  return arrived;
}

Result<Socket> ConnectAndGreet(const MeetingPoint& point, const Caller& caller,
                               MonotonicTime deadline, bool* host_answers, const GangTls* tls) {
  const std::string greeting = Greeting(point.nonce, caller);
  std::string why;       // Why the last attempt failed.
  bool dropped = false;  // The process dropped the connection, so it is not stopped.
  for (Duration pause = 1ms;; pause = std::min<Duration>(2 * pause, 200ms)) {
    auto socket = ConnectTo(point.host, point.port, deadline);
    Status last = socket.status();
    if (socket.ok()) {
      if (host_answers != nullptr) NoticeSilence(*socket);
      if (tls != nullptr) last = tls->Connect(&*socket, deadline);
      if (last.ok()) last = SendAll(*socket, greeting.data(), greeting.size(), deadline);
      char answer = 0;
      if (last.ok()) last = ReceiveAll(*socket, &answer, 1, deadline);
      if (last.ok() && answer == kWelcome) return std::move(socket).value();
      if (host_answers != nullptr) {
        const std::optional<Duration> silence = SilenceOf(socket->fd());
        dropped = dropped || last.code() != Code::kDeadlineExceeded;
        *host_answers = !dropped && silence && *silence < kSilentAfter;
      }
    }
    if (!last.ok()) why = ": " + last.message();
    if (Clock::Real().Now() + pause >= deadline) break;
    std::this_thread::sleep_for(pause);
  }
  return PeerTimeout(HostPort{point.host, point.port}.ToString() + " did not welcome rank " +
                     std::to_string(caller.rank) + " in time" + why);
}

}  // namespace assay
