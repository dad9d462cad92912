// The NCCL environment variables that users may set for a campaign (a set of benchmarks to run).
// All Assay programs share this table, so that they accept the same settings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace assay {

// An NCCL environment variable and the values that Assay accepts for it. Assay checks the values
// because NCCL does not reject bad ones: it reads "4M" as 4 and ignores most unknown words. A
// result could then list a setting that had no effect.
struct NcclVariable {
  enum class Kind {
    kInteger,  // A decimal number from `minimum` to `maximum`.
    kChoice,   // One of `words`.
    kList,     // `words` separated by any of , ; : ^ in any case: "Ring;AllReduce:^Tree".
    kText,     // Any text, such as names of network interfaces.
  };
  std::string_view name;
  Kind kind = Kind::kText;
  int64_t minimum = 0;
  int64_t maximum = 0;
  std::vector<std::string_view> words = {};
  // True if the value names devices of a host, such as network interfaces, and so may differ
  // between ranks on different hosts.
  bool per_host = false;
};

// Returns all variables in nccl_variables.inc, sorted by name. They select NCCL's algorithms,
// transports and resources.
const std::vector<NcclVariable>& NcclVariables();

// The NCCL variable that an agent (the daemon on a node) sets if started with --nccl-host-id.
// Campaigns may not set it, but results record it along with those that campaigns may set.
inline constexpr std::string_view kNcclHostId = "NCCL_HOSTID";

// Returns the entry for the variable `name`, or null if a campaign may not set this variable.
const NcclVariable* FindNcclVariable(std::string_view name);

// Returns OK if a campaign may set the variable to this value. Otherwise returns INVALID_ARGUMENT
// with the name, the value and the allowed values. Values must consist of 1 to 256 characters from
// [A-Za-z0-9_,:;^.=+-].
Status CheckNcclVariable(std::string_view name, std::string_view value);

// Returns the variables in `environment` that a campaign may set. `environment` is a
// null-terminated array of "NAME=VALUE" strings. Replaces values whose length or characters
// CheckNcclVariable() forbids with "?". Does not check values otherwise.
std::map<std::string, std::string> NcclVariablesOf(const char* const* environment);

}  // namespace assay
