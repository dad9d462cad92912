// Watches a campaign to its end.
#pragma once

#include <string>

#include "cli/commands/client.h"
#include "cli/commands/interrupt.h"

namespace assay::cli {

// How the ended campaign is printed: as text on stdout, as text on stderr because stdout is for
// other data, or as JSON on stdout.
enum class Summary { kOnStdout, kOnStderr, kJson };

// Shows progress on stderr until the campaign ends, then its summary. If the coordinator restarts,
// reconnects for up to a minute. `created`: this program just created the campaign, so the
// coordinator is known to exist. Returns the exit code: 0 if the campaign passed or Ctrl-C ended
// the watching, 1 if it failed.
ExitCode WatchCampaign(Client& client, const std::string& campaign, bool created,
                       Interrupt& interrupt, Summary summary = Summary::kOnStdout);

}  // namespace assay::cli
