// Parameters that the benchmarks over NCCL share. Compiles without CUDA and NCCL.
#pragma once

#include <string>
#include <vector>

#include "kernels/declaration.h"

namespace assay {

// An element type of collectives.
struct CollectiveDtype {
  const char* name;
  int64_t bytes;
  bool floating;
};
// The first is the default.
const std::vector<CollectiveDtype>& CollectiveDtypes();
// Returns the entry of a name that the parameters have checked.
const CollectiveDtype& CollectiveDtypeOf(const std::string& name);

// Returns the parameter "ranks", from 2. Users must give it.
Parameter RanksParameter(int64_t maximum);

// Returns the parameter "bytes", the size of the array on each rank. `dtypes` holds the choices of
// the parameter "dtype"; the size must be a multiple of the chosen type's size.
Parameter WholeArrayParameter(const std::vector<std::string>& dtypes);

// Returns the parameter "bytes": the size of an array that is divided among the ranks.
Parameter DividedArrayParameter();

// Checks that no rank's share of "bytes" is empty.
Status ValidateShares(const ParameterMap& parameters);

}  // namespace assay
