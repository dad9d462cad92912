// The parts that all commands share: the connection and the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/client.h"
#include "cli/commands/options.h"

namespace assay::cli {

// Must live as long as the app, whose callbacks use it.
struct Context {
  ClientOptions client;
  ExitCode exit_code = kExitDone;
};

// Runs `action` if the user chose `command`; its result becomes the program's exit code. `options`
// is kept alive until then.
template <typename Options, typename Action>
void OnRun(CLI::App& command, Context& context, std::shared_ptr<Options> options, Action action) {
  command.callback([&context, options, action] { context.exit_code = action(context, *options); });
}

// Each of these adds one command with its subcommands.
void AddCampaignCommands(CLI::App& app, Context& context);
void AddNodeCommands(CLI::App& app, Context& context);
void AddBenchmarkCommands(CLI::App& app, Context& context);
void AddResultsCommand(CLI::App& app, Context& context);
void AddCompareCommand(CLI::App& app, Context& context);
void AddPairsCommand(CLI::App& app, Context& context);
void AddImportCommand(CLI::App& app, Context& context);
void AddRunCommand(CLI::App& app, Context& context);
void AddUpCommand(CLI::App& app, Context& context);

}  // namespace assay::cli
