#include "kernels/net/spin_room.h"

#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "common/file.h"
#include "common/text.h"
#include "common/units.h"
#include "gang/peers.h"
#include "host/cpu.h"
#include "kernels/benchmark.h"

namespace assay {
namespace {

// Returns a text with one line for the host, one line for the CPUs, and one line per quota.
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
  own.host = FirstLineOf("/proc/sys/kernel/random/boot_id");
  own.cpus = UsableCpus();
  own.quotas = ReadCpuQuotas();
  return own;
}

// The ranks that share all usable CPUs of a host, or the CPU quota of a control group.
struct Pool {
  std::vector<std::string> ranks;
  std::set<int> cpus;
  double quota = 0;  // 0: the pool is a host.
};

// Returns OK if the pool has at least one CPU per rank.
Status CheckPool(const Pool& pool) {
  const double cpus = pool.quota > 0 ? pool.quota : static_cast<double>(pool.cpus.size());
  if (cpus >= static_cast<double>(pool.ranks.size())) return Status::Ok();
  const std::string ranks = "ranks that busy-wait need one CPU each; " + RankList(pool.ranks);
  return Unsupported(pool.quota > 0
                         ? ranks + " run under a CPU quota of " + NumberText(cpus) +
                               "; use wait=sleep, or raise the quota (--cpus of a container)"
                         : ranks + " run on one host with " +
                               Counted(static_cast<int64_t>(pool.cpus.size()), "usable CPU") +
                               "; use wait=sleep, or give the ranks more CPUs");
}

}  // namespace

Status RoomToSpin(const std::vector<RankCpus>& ranks) {
  std::map<std::pair<std::string, std::string>, Pool> pools;  // By host and control group.
  for (size_t i = 0; i < ranks.size(); ++i) {
    const RankCpus& rank = ranks[i];
    if (!rank.cpus.empty()) {
      Pool& host = pools[{rank.host, ""}];
      host.ranks.push_back(std::to_string(i));
      host.cpus.insert(rank.cpus.begin(), rank.cpus.end());
    }
    for (const CpuQuota& quota : rank.quotas) {
      Pool& group = pools[{rank.host, quota.group}];
      group.ranks.push_back(std::to_string(i));
      group.quota = quota.cpus;
    }
  }
  for (const auto& [name, pool] : pools) ASSAY_RETURN_IF_ERROR(CheckPool(pool));
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
