#include "agent/core/runner_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "agent/core/advertise_address.h"
#include "model/nccl_variables.h"

namespace assay::agent {
namespace {

constexpr std::array<std::string_view, 7> kAllowedNames = {
    "PATH", "HOME", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "TZ", "LANG", "TMPDIR"};
constexpr std::array<std::string_view, 4> kAllowedPrefixes = {"NCCL_", "CUDA_", "OMP_",
                                                              "OPENBLAS_"};
constexpr std::string_view kVisibleGpus = "CUDA_VISIBLE_DEVICES";
constexpr std::string_view kGpuOrder = "CUDA_DEVICE_ORDER";

bool Allowed(std::string_view name) {
  return std::find(kAllowedNames.begin(), kAllowedNames.end(), name) != kAllowedNames.end() ||
         std::any_of(
             kAllowedPrefixes.begin(), kAllowedPrefixes.end(),
             [&](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; });
}
constexpr char kInterface[] = "NCCL_SOCKET_IFNAME";

bool OnGpus(const v1::JobSpec& job) {
  return std::any_of(job.ranks().begin(), job.ranks().end(),
                     [](const v1::RankPlacement& rank) { return rank.gpu_index() >= 0; });
}

}  // namespace

std::vector<std::string> RunnerEnvironment(const std::optional<std::string>& visible_gpus,
                                           const std::string& cache_folder,
                                           const std::map<std::string, std::string>& nccl) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (!Allowed(name) || name == kGpuOrder || (visible_gpus && name == kVisibleGpus)) continue;
    if (nccl.count(std::string(name)) > 0) continue;
    environment.emplace_back(text);
  }
  for (const auto& [name, value] : nccl) environment.push_back(name + "=" + value);
  environment.push_back(std::string(kGpuOrder) + "=PCI_BUS_ID");
  if (visible_gpus) environment.push_back(std::string(kVisibleGpus) + "=" + *visible_gpus);
  if (!cache_folder.empty()) environment.push_back("ASSAY_CACHE_DIR=" + cache_folder);
  return environment;
}

std::map<std::string, std::string> GangEnvironment(const v1::JobSpec& job,
                                                   const std::string& host_id,
                                                   const std::string& advertise_address) {
  std::map<std::string, std::string> environment(job.nccl().begin(), job.nccl().end());
  if (job.node_ids_size() < 2 || !OnGpus(job)) return environment;
  environment[std::string(kNcclHostId)] = host_id;
  if (environment.count(kInterface) > 0 || std::getenv(kInterface) != nullptr) return environment;
  // "=" makes NCCL compare the whole name.
  const std::string interface = InterfaceOf(advertise_address);
  if (!interface.empty()) environment[kInterface] = "=" + interface;
  return environment;
}

std::map<std::string, std::string> EffectiveNccl(const v1::JobSpec& job,
                                                 const std::map<std::string, std::string>& given,
                                                 const std::string& node_id) {
  if (job.world_size() < 2 || !OnGpus(job)) return {};
  std::map<std::string, std::string> nccl = NcclVariablesOf(environ);
  for (const auto& [name, value] : given) {
    if (name != kNcclHostId || value != node_id) nccl[name] = value;
  }
  return nccl;
}

}  // namespace assay::agent
