#include "runner/link_models.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "common/text.h"
#include "gang/peers.h"

namespace assay {
namespace {

// NCCL's settings except those of its log.
std::string NcclSettings() {
  std::vector<std::string> settings;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.rfind("NCCL_", 0) == 0 && text.rfind("NCCL_DEBUG", 0) != 0) {
      settings.emplace_back(text);
    }
  }
  std::sort(settings.begin(), settings.end());
  return Join(settings, " ");
}

std::string RankName(const LocalGpu* gpu, const RunContext& context) {
  if (gpu != nullptr && !gpu->uuid.empty()) return gpu->uuid + " driver " + gpu->driver_version;
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return std::string(host) + " " + context.advertise_address;
}

}  // namespace

LinkModelStore::LinkModelStore(std::string folder, Clock* clock)
    : cache_(std::move(folder), kMaxAge, kMaxPoints, clock) {}

std::optional<AlphaBeta> LinkModelStore::Fit(const std::string& machine, const std::string& series,
                                             double bytes) {
  std::vector<SizedTime> times;
  for (const auto& [key, seconds] : cache_.Find(machine)) {
    if (key.first == series && key.second != bytes) times.push_back({key.second, seconds});
  }
  return FitAlphaBeta(times);
}

void LinkModelStore::Add(const std::string& machine, const std::string& series,
                         const SizedTime& measured) {
  cache_.Add(machine, {series, measured.bytes}, measured.seconds);
}

LinkModelStore& ProcessLinkModels() {
  static LinkModelStore store(CacheFolder());
  return store;
}

double LinkBytes(const Work& work) {
  if (work.link_bytes <= 0) return 0;
  return work.payload_bytes > 0 ? work.payload_bytes : work.link_bytes;
}

std::string LinkSeries(const BenchmarkInfo& info, const ParameterMap& parameters) {
  std::string series = info.name + " v" + std::to_string(info.version);
  for (const auto& [name, value] : parameters) {
    if (name != "bytes") series += " " + name + "=" + value;
  }
  return series;
}

Result<std::string> LinkMachine(Peers* peers, const LocalGpu* gpu, const RunContext& context) {
  std::string machine = RankName(gpu, context);
  if (peers != nullptr) {
    ASSAY_ASSIGN_OR_RETURN(const auto all, AllGather(*peers, machine, kPeerTimeout));
    machine.clear();
    for (const std::string& rank : all) machine += rank + "; ";
  }
  return machine + " NCCL " + Software().nccl.value_or("none") + " " + NcclSettings();
}

}  // namespace assay
