// The environment of runners: NCCL's variables, GPUs and nothing secret.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/job.pb.h"

namespace assay::agent {

// Returns the environment of every runner: the allowed variables of this process (search paths,
// locale, NCCL_*, CUDA_*, OMP_*, OPENBLAS_*), so that no secret of the agent is passed on, and GPUs
// in PCI bus order.
//   visible_gpus  replaces CUDA_VISIBLE_DEVICES: UUIDs separated by commas, or empty for none.
//                 If absent, the variable stays as it is.
//   cache_folder  becomes ASSAY_CACHE_DIR, where runners keep what they measured of the node.
//                 If empty, they keep nothing.
//   nccl          the result of GangEnvironment; replaces variables of the same names.
std::vector<std::string> RunnerEnvironment(const std::optional<std::string>& visible_gpus,
                                           const std::string& cache_folder = "",
                                           const std::map<std::string, std::string>& nccl = {});

// Returns the variables that runners get in addition to the agent's own environment: the job's
// settings and, for a gang of GPUs on several nodes,
//   NCCL_HOSTID         `host_id`, so that NCCL treats agents on one host as several hosts
//                       and uses only transports between hosts;
//   NCCL_SOCKET_IFNAME  the interface that has `advertise_address`, unless the job or the
//                       agent's environment names one or no interface has it.
std::map<std::string, std::string> GangEnvironment(const v1::JobSpec& job,
                                                   const std::string& host_id,
                                                   const std::string& advertise_address);

// Returns the variables that a result of the job must record: those of the agent's environment that
// a campaign may set, replaced by `given`, the result of GangEnvironment. The interface and a
// configured host id tell which links a gang over several nodes used. A host id that is the node's
// own is omitted, because it would make all pairs of nodes incomparable. Empty unless several GPUs
// take part.
std::map<std::string, std::string> EffectiveNccl(const v1::JobSpec& job,
                                                 const std::map<std::string, std::string>& given,
                                                 const std::string& node_id);

}  // namespace assay::agent
