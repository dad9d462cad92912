// Which of NCCL's environment variables a campaign may set. CLI, coordinator, agent and
// runner share it, so that what one accepts the next does not refuse.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/nccl_values.h"
#include "common/status.h"

namespace assay {

struct NcclVariable {
  std::string_view name;
  // What it sets, one line.
  std::string_view purpose;
  NcclValues values;
  // Names things of one host (interfaces, adapters), so ranks may differ in it.
  bool of_host = false;
};

// Sorted by name: those that choose among NCCL's own algorithms, transports and
// resources. None that names a file, loads a plugin or redirects output, for those would
// let a campaign read, write and run what it likes on a node; not NCCL_DEBUG, which Assay
// sets, nor NCCL_HOSTID, which is the agent's.
const std::vector<NcclVariable>& NcclVariables();

// What an agent with a host id of its own sets; results record it beside those.
inline constexpr std::string_view kNcclHostId = "NCCL_HOSTID";

// Null if it is not among them.
const NcclVariable* FindNcclVariable(std::string_view name);

// INVALID_ARGUMENT unless the variable is allowed and the value is one that NCCL takes for
// it, in 1 to 256 characters of [A-Za-z0-9_,:;^.=+-]. The message names variable and value
// and says what would be right; it names neither field nor line.
Status CheckNcclVariable(std::string_view name, std::string_view value);

// Those of `environment` ("NAME=VALUE" each, ended by a null) that a campaign could have
// set, whatever NCCL makes of their values; one in other characters than a campaign's
// reads "?".
std::map<std::string, std::string> NcclVariablesOf(const char* const* environment);

}  // namespace assay
