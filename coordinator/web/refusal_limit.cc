#include "coordinator/web/refusal_limit.h"

#include <arpa/inet.h>

#include <algorithm>

namespace assay::coordinator::web {
namespace {

constexpr double kMostRefusals = 200;
constexpr double kRefusalsPerSecond = 10;
constexpr size_t kMaxAddresses = 10'000;
constexpr size_t kNetworkBytes = 8;

std::string NetworkOf(const std::string& address) {
  in6_addr parsed{};
  if (inet_pton(AF_INET6, address.c_str(), &parsed) != 1) return address;
  if (IN6_IS_ADDR_V4MAPPED(&parsed)) return address;
  return std::string(reinterpret_cast<const char*>(parsed.s6_addr), kNetworkBytes);
}

}  // namespace

double RefusalLimit::LeftAt(const Entry& entry, MonotonicTime now) const {
  const double passed = std::chrono::duration<double>(now - entry.time).count();
  return std::min(kMostRefusals, entry.left + passed * kRefusalsPerSecond);
}

bool RefusalLimit::Allows(const std::string& address) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(NetworkOf(address));
  return found == entries_.end() || LeftAt(found->second, clock_.Now()) >= 1;
}

void RefusalLimit::NoteRefusal(const std::string& address) {
  MutexLock lock(mutex_);
  const MonotonicTime now = clock_.Now();
  if (entries_.size() >= kMaxAddresses) {
    std::erase_if(entries_,
                  [&](const auto& item) { return LeftAt(item.second, now) >= kMostRefusals; });
    // If too many networks remain, forget them all. A flood of requests from that many networks has
    // to be limited elsewhere.
    if (entries_.size() >= kMaxAddresses) entries_.clear();
  }
  Entry& entry = entries_.try_emplace(NetworkOf(address), Entry{kMostRefusals, now}).first->second;
  entry = {std::max(0.0, LeftAt(entry, now) - 1), now};
}

}  // namespace assay::coordinator::web
