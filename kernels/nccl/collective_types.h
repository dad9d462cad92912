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
  // The first version of NCCL that has it, as NCCL_VERSION_CODE; 0: all have.
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

// By a name that the parameters have checked.
const CollectiveType& CollectiveTypeOf(const std::string& name);
const CollectiveOp& CollectiveOpOf(const std::string& name);

// Unsupported() if this NCCL lacks the type, or the GPU the reduction of it.
Status CheckType(const CollectiveType& type, bool reduces, const NcclLibrary& nccl,
                 const GpuDevice& device);

}  // namespace assay
