// The NCCL environment of a job's runners.
#pragma once

#include <map>
#include <string>

#include "assay/v1/job.pb.h"

namespace assay::agent {

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

// Returns the network interface with this address ("127.0.0.1" gives "lo"); empty if there is none,
// or if `address` is not numeric.
std::string InterfaceOf(const std::string& address);

}  // namespace assay::agent
