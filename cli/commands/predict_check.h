// Compares predictions with what the fleet measured.
#pragma once

#include <string>

#include "cli/commands/app.h"
#include "cli/commands/client.h"
#include "cli/commands/fleet_figures.h"

namespace assay::cli {

// Adds the option --check to `assay predict`, which compares the predicted time of each benchmark
// case with the time measured in this fleet. Without the option, the command requires a topic (a
// kind of question).
void AddPredictCheck(CLI::App& predict, Context& context);

// Returns the name of the spec sheet of the first GPU of `options.node`. Returns an error if the
// node is unknown, has no GPU with a spec sheet, or is simulated and `options.simulated` is not
// set.
Result<std::string> SheetOfNode(Client& client, const FigureOptions& options);

}  // namespace assay::cli
