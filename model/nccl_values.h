// What NCCL takes as the value of one of its environment variables. NCCL itself reads "4M"
// as 4 and "on" as 0, limits what is out of bounds and ignores most words it does not know,
// at best with a line in its log: the result of such a run would claim a setting that was
// not in force.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/status.h"

namespace assay {

// One kind of value; the bounds are those of kInteger alone.
struct NcclValues {
  enum class Kind {
    kInteger,     // Between minimum and maximum, a multiple of `step`.
    kAlgorithms,  // "Ring,Tree", "^NVLS", "Ring;AllReduce:Tree,NVLS".
    kProtocols,   // "LL,Simple", the same forms.
    kDistance,    // "PXB", how far two devices may be apart; or NCCL's old integers.
    kFamily,      // "AF_INET" or "AF_INET6".
    kLaunchMode,  // "PARALLEL" or "GROUP".
    kInterfaces,  // "eth", "=eth0,eth1", "^docker", "^=docker0".
    kAdapters,    // As kInterfaces, each with a port if need be: "=mlx5_0:1".
    kName,        // One name, which NCCL or a plug-in of the node knows.
  };
  Kind kind = Kind::kInteger;
  int64_t minimum = 0;
  int64_t maximum = 1;
  int64_t step = 1;
  // What the integers are, for messages: "bytes"; else empty.
  std::string_view unit = "";
};

// Empty if `value` is of this kind; else what would be right, and what NCCL would take the
// value for where it takes it for something: "write an integer from 0 to 1; NCCL would read
// it as 0".
std::string WhyNoNcclValue(const NcclValues& values, std::string_view value);

// INVALID_ARGUMENT if two settings that are each sound contradict each other, as fewest
// channels that are more than the most: the message names both variables, both values and
// what would be right. `settings` are by name, each of them sound.
Status CheckNcclTogether(const std::map<std::string, std::string>& settings);

}  // namespace assay
