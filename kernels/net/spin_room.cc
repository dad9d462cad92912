#include "kernels/net/spin_room.h"

#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "common/text.h"
#include "gang/peers.h"
#include "host/platform.h"
#include "kernels/benchmark.h"

namespace assay {
namespace {

// Lines: the host, CPUs, and for each quota its group and size.
std::string Encode(const RankCpus& rank) {
  std::ostringstream text;
  text << rank.host << '\n';
  for (const int cpu : rank.cpus) text << cpu << ' ';
  text << '\n';
  for (const CpuQuota& quota : rank.quotas) text << quota.group << ' ' << quota.cpus << '\n';
  return text.str();
}

RankCpus Decode(const std::string& text) {
  std::istringstream lines(text);
  RankCpus rank;
  std::string cpus;
  std::getline(lines, rank.host);
  std::getline(lines, cpus);
  std::istringstream numbers(cpus);
  for (int cpu = 0; numbers >> cpu;) rank.cpus.push_back(cpu);
  for (CpuQuota quota; lines >> quota.group >> quota.cpus;) rank.quotas.push_back(quota);
  return rank;
}

RankCpus OwnCpus() {
  RankCpus own;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> own.host;
  own.cpus = UsableCpus();
  own.quotas = ReadCpuQuotas();
  return own;
}

Status TooFew(const std::vector<std::string>& ranks, const std::string& share,
              const std::string& more) {
  return Unsupported("ranks that spin need a CPU each; " + RankList(ranks) +
                     (ranks.size() == 1 ? " shares " : " share ") + share +
                     ": take wait=sleep, or " + more);
}

// Of the ranks of each control group.
Status RoomInQuotas(const std::vector<RankCpus>& ranks) {
  struct Group {
    std::vector<std::string> ranks;
    double cpus = 0;
  };
  std::map<std::pair<std::string, std::string>, Group> groups;  // By host and group.
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (const CpuQuota& quota : ranks[i].quotas) {
      Group& group = groups[{ranks[i].host, quota.group}];
      group.ranks.push_back(std::to_string(i));
      group.cpus = quota.cpus;
    }
  }
  for (const auto& [name, group] : groups) {
    if (group.cpus >= static_cast<double>(group.ranks.size())) continue;
    char cpus[32];
    std::snprintf(cpus, sizeof cpus, "%g", group.cpus);
    return TooFew(group.ranks, std::string("a CPU quota of ") + cpus,
                  "raise it (of a container, --cpus)");
  }
  return Status::Ok();
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
    return TooFew(host.ranks, "a host and may use " + std::to_string(host.cpus.size()),
                  "give them more");
  }
  return RoomInQuotas(ranks);
}

Status RoomToSpin(Peers& peers, Duration timeout) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> all,
                         AllGather(peers, Encode(OwnCpus()), timeout));
  std::vector<RankCpus> ranks;
  for (const std::string& one : all) ranks.push_back(Decode(one));
  return RoomToSpin(ranks);
}

}  // namespace assay
