// Watching a campaign to its end.
#pragma once

#include <string>

#include "cli/commands/client.h"
#include "cli/commands/interrupt.h"

namespace assay::cli {

// Where the ended campaign's summary goes: stderr leaves stdout to data.
enum class Summary { kOnStdout, kOnStderr };

// Shows progress on stderr until the campaign ends, then its summary.
// Survives restarts of the coordinator: tries again for a minute. `created`: this
// program just made the campaign, so the coordinator is known to exist. Returns
// the exit code: 0 if it passed, 1 if not, 0 too if Ctrl-C ended the watching.
ExitCode WatchCampaign(Client& client, const std::string& campaign, bool created,
                       Interrupt& interrupt, Summary summary = Summary::kOnStdout);

}  // namespace assay::cli
