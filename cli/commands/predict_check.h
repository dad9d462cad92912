// Compares predictions with what the fleet measured.
#pragma once

#include <string>

#include "cli/commands/app.h"
#include "cli/commands/client.h"
#include "cli/commands/fleet_figures.h"

namespace assay::cli {

// Adds --check to `assay predict`: how far the model is off in this fleet, by case. Without it, a
// topic is required.
void AddPredictCheck(CLI::App& predict, Context& context);

// Returns the name of the spec sheet of the first GPU of `options.node`. Returns an error if the
// node is unknown, has no GPU with a sheet, or is simulated unless the options say so.
Result<std::string> SheetOfNode(Client& client, const FigureOptions& options);

}  // namespace assay::cli
