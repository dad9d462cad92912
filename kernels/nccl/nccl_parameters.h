// The parameters that benchmarks of NCCL share. This file needs neither CUDA nor NCCL.
#pragma once

#include <string>
#include <vector>

#include "kernels/declaration.h"

namespace assay {

// An element type that collectives support.
struct CollectiveDtype {
  const char* name;
  int64_t bytes;
  bool floating;
};
// Returns all element types. The first one is the default.
const std::vector<CollectiveDtype>& CollectiveDtypes();
// Returns the entry for a name, which must be valid.
const CollectiveDtype& CollectiveDtypeOf(const std::string& name);

// Returns the parameter "ranks", which is from 2 to `maximum` and has no default.
Parameter RanksParameter(int64_t maximum);

// Returns the parameter "bytes", the size of the array on each rank, which must be a multiple of
// the element size. `dtypes` are the element types offered by the parameter "dtype".
Parameter WholeArrayParameter(const std::vector<std::string>& dtypes);

// Returns the parameter "bytes": the size of an array that is divided among the ranks.
Parameter DividedArrayParameter();

// Checks that the parameter "bytes" is large enough to give every rank a share that is not empty.
Status ValidateShares(const ParameterMap& parameters);

}  // namespace assay
