#include "kernels/net/spin_room.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "common/list_text.h"
#include "kernels/benchmark.h"
#include "kernels/platform.h"

namespace assay {
namespace {

constexpr size_t kNamedRanks = 16;

std::string Encode(const RankCpus& rank) {
  std::string text = rank.host;
  for (const int cpu : rank.cpus) text += ' ' + std::to_string(cpu);
  return text;
}

RankCpus Decode(const std::string& text) {
  std::istringstream words(text);
  RankCpus rank;
  words >> rank.host;
  for (int cpu = 0; words >> cpu;) rank.cpus.push_back(cpu);
  return rank;
}

RankCpus OwnCpus() {
  RankCpus own;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> own.host;
  own.cpus = UsableCpus();
  return own;
}

}  // namespace

Status RoomToSpin(const std::vector<RankCpus>& ranks) {
  struct Host {
    std::vector<std::string> ranks;
    std::set<int> cpus;
  };
  std::map<std::string, Host> hosts;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].cpus.empty()) continue;  // The system did not tell.
    Host& host = hosts[ranks[i].host];
    host.ranks.push_back(std::to_string(i));
    host.cpus.insert(ranks[i].cpus.begin(), ranks[i].cpus.end());
  }
  for (const auto& [name, host] : hosts) {
    if (host.cpus.size() >= host.ranks.size()) continue;
    return Unsupported("ranks that spin need a CPU each; ranks " +
                       JoinSome(host.ranks, kNamedRanks) + " share a host and may use " +
                       std::to_string(host.cpus.size()) + ": take wait=sleep, or give them more");
  }
  return Status::Ok();
}

Status RoomToSpin(Peers& peers, Duration timeout) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> all,
                         AllGather(peers, Encode(OwnCpus()), timeout));
  std::vector<RankCpus> ranks;
  for (const std::string& one : all) ranks.push_back(Decode(one));
  return RoomToSpin(ranks);
}

}  // namespace assay
