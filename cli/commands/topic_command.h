// Adds commands for topics. A topic is a kind of question that a command such as `assay predict`
// answers.
#pragma once

#include "cli/commands/app.h"
#include "predict/topic.h"

namespace assay::cli {

// Adds the topic as a subcommand of `parent`, with an option for each input.
void AddTopic(CLI::App& parent, Context& context, const predict::Topic& topic);

}  // namespace assay::cli
