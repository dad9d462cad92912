// Maps the names of element types and reductions to NCCL's constants.
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
  // The first NCCL version to support the type, as an NCCL_VERSION_CODE, or 0 if all versions do.
  int since = 0;
  int64_t bytes = CollectiveDtypeOf(name).bytes;
};

struct CollectiveOp {
  const char* name;
  ReduceOp op;
  ncclRedOp_t nccl;
};

// Return all types and operations. The first of each is the default.
const std::vector<CollectiveType>& CollectiveTypes();
const std::vector<CollectiveOp>& CollectiveOps();

// Return the entry for a name, which must be valid.
const CollectiveType& CollectiveTypeOf(const std::string& name);
const CollectiveOp& CollectiveOpOf(const std::string& name);

// Returns Unsupported() if this version of NCCL lacks the type, or if `reduces` is true and the
// GPU cannot reduce elements of the type.
Status CheckType(const CollectiveType& type, bool reduces, const NcclLibrary& nccl,
                 const GpuDevice& device);

}  // namespace assay
