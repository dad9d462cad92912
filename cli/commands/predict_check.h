// Compares predictions with what the fleet measured.
#pragma once

#include <string>

#include "cli/commands/app.h"
#include "cli/commands/client.h"

namespace assay::cli {

// Adds --check to `assay predict`: how far the model is off in this fleet, by case. Without it, a
// topic is required.
void AddPredictCheck(CLI::App& predict, Context& context);

// Returns the name of the spec sheet of a node's first GPU. Returns an error if the node is unknown
// or has no GPU with a sheet.
Result<std::string> SheetOfNode(Client& client, const std::string& node);

}  // namespace assay::cli
