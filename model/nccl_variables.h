// NCCL's environment variables that a campaign may set. The CLI, coordinator, agent and runner
// share this table, so that they accept the same settings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace assay {

// One variable. NCCL reads "4M" as 4 and ignores most words that it does not know, so that a
// result could name a setting that was not in force. Hence the checks of values.
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
  // Names devices of one host (interfaces, adapters), so that ranks may differ in it.
  bool per_host = false;
};

// Returns the rows of nccl_variables.inc, sorted by name: the variables that select NCCL's
// algorithms, transports and resources.
const std::vector<NcclVariable>& NcclVariables();

// The variable that --nccl-host-id of an agent sets; results record it with the others.
inline constexpr std::string_view kNcclHostId = "NCCL_HOSTID";

// Returns null if a campaign may not set the variable.
const NcclVariable* FindNcclVariable(std::string_view name);

// INVALID_ARGUMENT unless the variable is allowed and accepts the value. Every value has 1 to 256
// characters of [A-Za-z0-9_,:;^.=+-]. The message names the variable, the value and what would be
// right.
Status CheckNcclVariable(std::string_view name, std::string_view value);

// Returns the variables of `environment` ("NAME=VALUE" entries, ended by a null) that a campaign
// may set. Values are not checked; one with characters outside the set above becomes "?".
std::map<std::string, std::string> NcclVariablesOf(const char* const* environment);

}  // namespace assay
