// assay predict, assay plan
#include <string>

#include "cli/commands/app.h"
#include "cli/commands/predict_check.h"
#include "cli/commands/topic_command.h"

namespace assay::cli {
namespace {

CLI::App* AddTopics(CLI::App& app, Context& context, const std::string& name,
                    const std::string& summary) {
  CLI::App* command = app.add_subcommand(name, summary);
  for (const predict::Topic& topic : predict::Topics()) {
    if (topic.command == name) AddTopic(*command, context, topic);
  }
  return command;
}

}  // namespace

void AddPredictCommands(CLI::App& app, Context& context) {
  CLI::App* command =
      AddTopics(app, context, "predict", "Predict what a step, a product or a transfer takes");
  command->footer(
      "Every answer lists its terms with formula and source. Figures of a GPU are measured in this "
      "fleet if it has results (of --node, else of the same GPU), else its spec sheet's, and "
      "always "
      "those that you give. Numbers have units: 15T, 4Mi, 900GB/s, 500ms, \"2.00 USD\".");
  AddPredictCheck(*command, context);
  AddTopics(app, context, "plan", "Plan a training run, a service or a purchase")
      ->require_subcommand(1);
}

}  // namespace assay::cli
