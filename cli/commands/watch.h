// Watches a campaign to its end.
#pragma once

#include <string>

#include "cli/commands/client.h"
#include "cli/commands/interrupt.h"

namespace assay::cli {

// Where and how to print the summary of a campaign that has ended: as text on stdout, as text on
// stderr if stdout is needed for other data, or as JSON on stdout.
enum class Summary { kOnStdout, kOnStderr, kJson };

// Shows a campaign's progress on stderr until the campaign ends, then prints a summary. If the
// coordinator restarts, tries to reconnect for up to a minute, to each coordinator in turn.
// `created` says that this program has just created the campaign, so the coordinator is known to
// exist. Returns exit code 0 if the campaign passed, 1 if it failed, and Interrupt::exit_code if a
// signal stopped the watch. The campaign then goes on.
ExitCode WatchCampaign(Client& client, const std::string& campaign, bool created,
                       Interrupt& interrupt, Summary summary = Summary::kOnStdout);

}  // namespace assay::cli
