// Builds the environment of runner processes: variables of NCCL and of GPUs, but no secrets.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/job.pb.h"

namespace assay::agent {

// Returns the environment variables for a runner process. From the agent's own environment, passes
// on only PATH, the locale, NCCL_*, CUDA_* and a few others, so that no secrets leak. Sets
// CUDA_DEVICE_ORDER to PCI bus order. Parameters:
//   visible_gpus  The value of CUDA_VISIBLE_DEVICES: comma-separated UUIDs, or empty for no GPUs.
//                 If not set, the agent's own value is passed on.
//   cache_folder  The folder in which runners cache measurements of this node. Empty for no cache.
//   nccl          Variables from GangEnvironment, which override those of the agent.
std::vector<std::string> RunnerEnvironment(const std::optional<std::string>& visible_gpus,
                                           const std::string& cache_folder = "",
                                           const std::map<std::string, std::string>& nccl = {});

// Returns the NCCL environment variables for a job: those that the job itself requests and, for GPU
// jobs on several nodes, also
//   NCCL_HOSTID         Set to `host_id`, so that NCCL treats two agents on one host as two hosts,
//                       and uses only transports that work between hosts.
//   NCCL_SOCKET_IFNAME  The network interface of `advertise_address`, unless the job or the agent's
//                       environment sets this variable.
std::map<std::string, std::string> GangEnvironment(const v1::JobSpec& job,
                                                   const std::string& host_id,
                                                   const std::string& advertise_address);

// Returns the NCCL variables to record in a job's results: those in `given` (from GangEnvironment)
// and those of the agent's environment that campaigns may set. Omits an NCCL_HOSTID that equals the
// node's id, because results from different nodes could not be compared otherwise. Returns an empty
// map unless the job uses several GPUs.
std::map<std::string, std::string> EffectiveNccl(const v1::JobSpec& job,
                                                 const std::map<std::string, std::string>& given,
                                                 const std::string& node_id);

}  // namespace assay::agent
