// Element types and reductions of NCCL by their names.
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

#include "common/status.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/nccl/nccl_library.h"
#include "kernels/nccl/nccl_parameters.h"
#include "kernels/nccl/reduce_pattern.h"

namespace assay {

struct CollectiveType {
  const char* name;
  ReduceType type;
  int nccl;  // ncclDataType_t; its header may be older than the library.
  // The first version of NCCL that has it, as NCCL_VERSION_CODE; 0 means all.
  int since = 0;
  int64_t bytes = CollectiveDtypeOf(name).bytes;
};

struct CollectiveOp {
  const char* name;
  ReduceOp op;
  ncclRedOp_t nccl;
};

// The first is the default.
const std::vector<CollectiveType>& CollectiveTypes();
const std::vector<CollectiveOp>& CollectiveOps();

// Return the entry of a name that the parameters have checked.
const CollectiveType& CollectiveTypeOf(const std::string& name);
const CollectiveOp& CollectiveOpOf(const std::string& name);

// Returns Unsupported() if this NCCL has no such type or the GPU cannot reduce it.
Status CheckType(const CollectiveType& type, bool reduces, const NcclLibrary& nccl,
                 const GpuDevice& device);

}  // namespace assay
