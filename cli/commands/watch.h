// Watches a campaign to its end.
#pragma once

#include <optional>
#include <string>

#include "cli/commands/client.h"
#include "cli/commands/interrupt.h"
#include "common/clock.h"

namespace assay::cli {

// Form in which a watch shows a campaign and its end.
enum class Summary {
  kOnStdout,  // Progress on stderr, then the summary as text on stdout.
  kOnStderr,  // Both on stderr, because stdout is needed for other data.
  kJson,      // Progress on stderr, then the campaign as JSON on stdout.
  kEvents,    // Each event as one line of JSON on stdout. The last one has the verdict.
  kLine,      // Nothing but one line on stdout.
};

// Shows a campaign's progress until the campaign ends, then prints a summary. If the connection is
// lost, tries each coordinator in turn for up to a minute. Set `created` if the campaign is known
// to exist. If the watch stops early, the campaign continues. Returns an exit code:
// - 0 if the campaign passed, or 1 if it failed;
// - 3 if no coordinator could be reached, or 4 if the campaign does not exist;
// - 124 if `deadline` passed, or Interrupt::exit_code after a signal.
ExitCode WatchCampaign(Client& client, const std::string& campaign, bool created,
                       Interrupt& interrupt, Summary summary = Summary::kOnStdout,
                       std::optional<WallTime> deadline = std::nullopt);

// Returns help text that lists the exit codes of a command that can watch campaigns. The arguments
// describe the codes 0, 1 and 4, whose meaning depends on the command.
std::string WatchExitStatus(const std::string& done, const std::string& failed,
                            const std::string& refused, bool timeout = false);

}  // namespace assay::cli
