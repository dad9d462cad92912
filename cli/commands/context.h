// What every command gets from the command line and gives back to main.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/commands/client.h"
#include "cli/views/output.h"

namespace assay::cli {

// Lives as long as the app whose callbacks use it.
struct Context {
  ClientOptions client;
  ExitCode exit_code = kExitDone;
};

// Adds -o/--output table|json|csv to a command.
void AddOutputOption(CLI::App& command, OutputFormat& format);

// Refuses a number below zero in words: CLI11's own check names the bounds of a double.
CLI::Validator NotNegative();

// Refuses what is no number from `low` to `high`, NaN too, which CLI11's Range lets pass.
CLI::Validator NumberWithin(double low, double high);

// Refuses "", which for many options would mean that they are not given.
CLI::Validator NotEmpty();

// A command whose options outlive parsing: `action` runs if it was chosen and
// its result is the program's exit code. `Options` is made by the command's
// author and shared by both.
template <typename Options, typename Action>
void OnRun(CLI::App& command, Context& context, std::shared_ptr<Options> options, Action action) {
  command.callback([&context, options, action] { context.exit_code = action(context, *options); });
}

// Each adds one command with its subcommands.
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
