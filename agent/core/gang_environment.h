// NCCL's environment of a job's runners.
#pragma once

#include <map>
#include <string>

#include "assay/v1/job.pb.h"

namespace assay::agent {

// What the runners get beside the agent's own environment: the job's settings and, where a
// gang of GPUs spreads over several nodes,
//   NCCL_HOSTID         `host_id`, so that NCCL takes agents on one host for several
//                       hosts, and keeps to transports between them;
//   NCCL_SOCKET_IFNAME  the interface that carries `advertise_address`, unless the job or
//                       the agent's environment names one or no interface carries it.
std::map<std::string, std::string> GangEnvironment(const v1::JobSpec& job,
                                                   const std::string& host_id,
                                                   const std::string& advertise_address);

// What a result of the job has to record: of the variables that a campaign may set those
// of the agent's environment, replaced by `given`, which is GangEnvironment's answer: the
// interface and a host id that was chosen tell which links a gang over several nodes took.
// A host id that is the node's own tells nothing and is left out, or no two pairs of nodes
// would be comparable. Empty unless several GPUs take part.
std::map<std::string, std::string> EffectiveNccl(const v1::JobSpec& job,
                                                 const std::map<std::string, std::string>& given,
                                                 const std::string& node_id);

// The network interface with this address ("127.0.0.1" gives "lo"); empty if there is
// none, or `address` is no numeric address.
std::string InterfaceOf(const std::string& address);

}  // namespace assay::agent
