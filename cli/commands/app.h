// The command line: its parser, its commands, and the parts that the commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/client.h"
#include "cli/views/output.h"

namespace assay::cli {

struct ResultsQuery;

// Connection options and exit code. Must outlive the app, whose callbacks refer to it.
struct Context {
  ClientOptions client;
  ExitCode exit_code = kExitDone;
};

// Creates the command-line parser for all commands. Running the parser executes the user's command
// and stores the exit code in `context`.
std::unique_ptr<CLI::App> MakeApp(Context& context);

// Parses and runs; returns the exit code.
int RunApp(int argc, const char* const* argv);

// Registers `action` to run if the user chooses `command`, and keeps `options` alive until then.
// The program exits with the code that `action` returns. If `action` returns an error, the program
// prints the error and exits with the corresponding code.
template <typename Options, typename Action>
void OnRun(CLI::App& command, Context& context, std::shared_ptr<Options> options, Action action) {
  command.callback([&context, options, action] {
    const Result<ExitCode> code = action(context, *options);
    context.exit_code = code.ok() ? *code : Report(code.status());
  });
}

// Each of these adds one command with its subcommands.
void AddCampaignCommands(CLI::App& app, Context& context);
// These add subcommands of "assay campaign".
void AddCheckCommand(CLI::App& campaign, Context& context);
void AddSubmitCommand(CLI::App& campaign, Context& context);
void AddRerunCommand(CLI::App& campaign, Context& context);
void AddWatchCommands(CLI::App& campaign, Context& context);
void AddScheduleCommands(CLI::App& app, Context& context);
void AddNodeCommands(CLI::App& app, Context& context);
// These add subcommands of "assay node".
void AddNodeOperations(CLI::App& node, Context& context);
void AddInviteCommands(CLI::App& node, Context& context);
void AddUserCommands(CLI::App& app, Context& context);
void AddLoginCommand(CLI::App& app, Context& context);
void AddContextCommands(CLI::App& app, Context& context);
void AddDeployCommand(CLI::App& app, Context& context);
void AddBenchmarkCommands(CLI::App& app, Context& context);
void AddResultsCommand(CLI::App& app, Context& context);
void AddCompareCommand(CLI::App& app, Context& context);
void AddHistoryCommand(CLI::App& app, Context& context);
void AddRegressionsCommand(CLI::App& app, Context& context);
void AddOutliersCommand(CLI::App& app, Context& context);
void AddBaselineCommands(CLI::App& app, Context& context);
void AddAnnotateCommand(CLI::App& app, Context& context);
void AddCostCommand(CLI::App& app, Context& context);
void AddPairsCommand(CLI::App& app, Context& context);
void AddPlotCommand(CLI::App& app, Context& context);
void AddReportCommand(CLI::App& app, Context& context);
// Adds "assay predict" and "assay plan".
void AddPredictCommands(CLI::App& app, Context& context);
void AddModelCommands(CLI::App& app, Context& context);
void AddSpecsCommand(CLI::App& app, Context& context);
void AddFitCommands(CLI::App& app, Context& context);
void AddImportCommand(CLI::App& app, Context& context);
void AddRunCommand(CLI::App& app, Context& context);
void AddUpCommand(CLI::App& app, Context& context);
void AddCompletionCommand(CLI::App& app);

// Returns shell completions for the argument that the user is typing, the last of `words`. `words`
// contains all arguments after "assay". Each line of the result consists of a command or option, a
// tab, and a description. Returns an empty string if the last argument may be a file name.
std::string Completions(const CLI::App& app, const std::vector<std::string>& words);

// Prints an error about the campaign file `path` and returns the exit code. Errors that the
// coordinator found in the file are printed like syntax errors, with their line numbers.
ExitCode ReportOfFile(const std::string& path, const Status& status);

// Adds --request-id to a command that must not be executed twice.
void AddRequestIdOption(CLI::App& command, std::string& request_id);

// Adds -o/--output table|json|csv to a command.
void AddOutputOption(CLI::App& command, OutputFormat& format);

// Adds --filter, --campaign, --since and --until to a command.
void AddRangeOptions(CLI::App& command, ResultsQuery& query);

// Adds the options of AddRangeOptions, and --failing, to a command.
void AddSelectionOptions(CLI::App& command, ResultsQuery& query);

// Rejects negative numbers. CLI11's own check would print the limits of double in its message.
CLI::Validator NotNegative();

// Accepts only numbers from `low` to `high`. Unlike CLI11's Range, rejects NaN.
CLI::Validator NumberWithin(double low, double high);

// Rejects an empty argument, which many commands would treat as a missing option.
CLI::Validator NotEmpty();

}  // namespace assay::cli
