#include "cli/commands/app.h"

#include <cstdio>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/fetch_results.h"
#include "cli/views/format.h"
#include "common/text.h"
#include "common/uuid.h"

namespace assay::cli {
namespace {

void AddConnectionOptions(CLI::App& app, ClientOptions& options) {
  const std::string group = "Connection";
  app.add_option("--context", options.context,
                 "Context with coordinator and certificate; see `assay context` (default: the "
                 "current one)")
      ->envname("ASSAY_CONTEXT")
      ->group(group);
  app.add_option("--coordinator", options.coordinator,
                 "Address of the coordinator: HOST:PORT, or HOST:PORT,HOST:PORT if there are "
                 "several")
      ->envname("ASSAY_COORDINATOR")
      ->each([&options](const std::string&) { options.coordinator_given = true; })
      ->capture_default_str()
      ->group(group);
  app.add_option("--tls-ca", options.tls.authorities, "PEM file: whose certificates to believe")
      ->envname("ASSAY_TLS_CA")
      ->group(group);
  app.add_option("--tls-cert", options.tls.certificate, "PEM file: our certificate, for mutual TLS")
      ->envname("ASSAY_TLS_CERT")
      ->group(group);
  app.add_option("--tls-key", options.tls.key, "PEM file: its private key")
      ->envname("ASSAY_TLS_KEY")
      ->group(group);
  app.add_flag("--insecure", options.insecure, "Allow plaintext to addresses that are not loopback")
      ->group(group);
}

void AddVersionCommand(CLI::App& app) {
  app.add_subcommand("version", "Print the version")->callback([] {
    Print("assay " ASSAY_VERSION "\n");
  });
}

// Returns the innermost command that was given.
const CLI::App* ChosenCommand(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().back();
  return app;
}

// Returns a command with its parents: "assay campaign".
std::string PathOf(const CLI::App* app) {
  const CLI::App* parent = app->get_parent();
  return (parent != nullptr ? PathOf(parent) + " " : "") + app->get_name();
}

// Returns the long names of the options of `command` and its parents: "--limit".
std::vector<std::string> OptionNames(const CLI::App* command) {
  std::vector<std::string> names;
  for (; command != nullptr; command = command->get_parent()) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

// Says what is wrong with the arguments and what would be right.
std::string UsageMessage(const CLI::App* app, const CLI::Error& error) {
  const CLI::App* command = ChosenCommand(app);
  const std::string path = PathOf(command);
  std::string message = error.what();
  std::vector<std::string> names;
  for (const CLI::App* child : command->get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(child->get_name());
  }
  const std::vector<std::string> unknown = app->remaining(true);
  if (!unknown.empty() && unknown[0][0] == '-') {
    const std::string name = unknown[0].substr(0, unknown[0].find('='));
    const std::string closest = ClosestName(name, OptionNames(command));
    message = "unknown option " + Quote(name) +
              (closest.empty() ? "" : "; did you mean " + Quote(closest) + "?");
  } else if (!names.empty() && !unknown.empty()) {
    const std::string closest = ClosestName(unknown[0], names);
    message = "unknown command " + Quote(unknown[0]) + "; " +
              (closest.empty() ? "" : "did you mean " + Quote(closest) + "? ") + "Commands of \"" +
              path + "\": " + Join(names);
  } else if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) &&
             !unknown.empty()) {
    message = "unexpected argument " + Quote(unknown[0]) +
              (command->get_option_no_throw("--campaign") == nullptr
                   ? ""
                   : "; to select a campaign, use --campaign NAME");
  } else if (!names.empty() && unknown.empty()) {
    message = "missing command; commands of \"" + path + "\": " + Join(names);
  }
  return "assay: " + message + "\nSee: " + path + " --help\n";
}

// Returns the first argument that is not UTF-8, because messages cannot carry it, or nullptr.
const char* FindMalformed(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    for (std::string_view rest = argv[i]; !rest.empty();) {
      const Utf8Character character = DecodeUtf8(rest);
      if (!character.valid) return argv[i];
      rest.remove_prefix(character.bytes);
    }
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<CLI::App> MakeApp(Context& context) {
  auto app = std::make_unique<CLI::App>("Assay benchmarks fleets of GPUs.", "assay");
  app->require_subcommand(1);
  // Options of `assay` itself may follow the subcommand too.
  app->fallthrough();
  app->set_version_flag("--version", "assay " ASSAY_VERSION);
  app->failure_message(UsageMessage);
  AddConnectionOptions(*app, context.client);
  AddUpCommand(*app, context);
  AddLoginCommand(*app, context);
  AddContextCommands(*app, context);
  AddCampaignCommands(*app, context);
  AddScheduleCommands(*app, context);
  AddNodeCommands(*app, context);
  AddUserCommands(*app, context);
  AddDeployCommand(*app, context);
  AddBenchmarkCommands(*app, context);
  AddRunCommand(*app, context);
  AddResultsCommand(*app, context);
  AddCompareCommand(*app, context);
  AddHistoryCommand(*app, context);
  AddRegressionsCommand(*app, context);
  AddOutliersCommand(*app, context);
  AddBaselineCommands(*app, context);
  AddAnnotateCommand(*app, context);
  AddCostCommand(*app, context);
  AddPairsCommand(*app, context);
  AddPlotCommand(*app, context);
  AddReportCommand(*app, context);
  AddPredictCommands(*app, context);
  AddModelCommands(*app, context);
  AddSpecsCommand(*app, context);
  AddFitCommands(*app, context);
  AddImportCommand(*app, context);
  AddVersionCommand(*app);
  AddCompletionCommand(*app);
  // Set the footer last, because commands that are added later would inherit it.
  app->footer(
      "Exit status: 0 done; 1 failed (a case, a campaign's verdict, a bad or undecided link, a "
      "regression in a comparison); 2 the command line or a file is wrong; 3 the coordinator or "
      "agent cannot be reached; 4 it refused; 130 or 143 if SIGINT or SIGTERM interrupted it.");
  return app;
}

int RunApp(int argc, const char* const* argv) {
  if (const char* argument = FindMalformed(argc, argv); argument != nullptr) {
    PrintError("assay: argument " + Quote(argument) + " must be UTF-8\n");
    return kExitUsage;
  }
  Context context;
  const std::unique_ptr<CLI::App> app = MakeApp(context);
  if (argc > 1 && std::string_view(argv[1]) == "__complete") {
    Print(Completions(*app, {argv + 2, argv + argc}));
    return kExitDone;
  }
  try {
    app->parse(argc, argv);
    // Without this check, output that is cut by a full disk would look like a short list.
    if (std::ferror(stdout) != 0) {
      PrintError("assay: cannot write the output\n");
      return kExitRefused;
    }
    return context.exit_code;
  } catch (const CLI::ParseError& error) {
    // CLI11 throws for --help and --version too, with exit code 0.
    return app->exit(error) == 0 ? kExitDone : kExitUsage;
  } catch (const std::bad_alloc&) {
    PrintError("assay: out of memory\n");
    return kExitRefused;
  }
}

void AddOutputOption(CLI::App& command, OutputFormat& format) {
  static const std::map<std::string, OutputFormat> kFormats = {
      {"table", OutputFormat::kTable}, {"json", OutputFormat::kJson}, {"csv", OutputFormat::kCsv}};
  command
      .add_option_function<std::string>(
          "-o,--output", [&format](const std::string& name) { format = kFormats.at(name); },
          "Form of the output: table, json or csv")
      ->check(CLI::IsMember({"table", "json", "csv"}))
      ->type_name("FORMAT");
}

void AddRequestIdOption(CLI::App& command, std::string& request_id) {
  command
      .add_option("--request-id", request_id,
                  "UUID of this request: if it is repeated, nothing is done a second time, and the "
                  "same campaign is returned")
      ->check(CLI::Validator(
          [](const std::string& value) {
            return IsUuid(Lower(value)) ? std::string() : Quote(value) + " must be a UUID";
          },
          ""));
}

CLI::Validator NotNegative() {
  return CLI::Validator(
      [](const std::string& value) {
        return value.starts_with("-") ? value + " must be a whole number, at least 0"
                                      : std::string();
      },
      "");
}

CLI::Validator NumberWithin(double low, double high) {
  return CLI::Validator(
      [low, high](const std::string& value) {
        double number = 0;
        // A comparison with NaN is false.
        if (CLI::detail::lexical_cast(value, number) && number >= low && number <= high) {
          return std::string();
        }
        return Quote(value) + " must be a number from " + FormatExact(low) + " to " +
               FormatExact(high);
      },
      "");
}

CLI::Validator NotEmpty() {
  return CLI::Validator(
      [](const std::string& value) {
        return value.empty() ? std::string("must not be empty; leave the option out instead")
                             : std::string();
      },
      "");
}

namespace {

void AddFilterOptions(CLI::App& command, ResultsQuery& query) {
  command.add_option("--filter", query.filter,
                     "For example: benchmark=\"gemm\" AND gpu.model=\"H200\" AND driver>=\"580\"");
  command.add_option("--campaign", query.campaign,
                     "Only of this campaign: id, or name (the newest of that name)");
}

}  // namespace

void AddRangeOptions(CLI::App& command, ResultsQuery& query) {
  AddFilterOptions(command, query);
  command
      .add_option("--since", query.since,
                  "Only cases that ended at or after this time: an age such as 12h or 7d, a time "
                  "in UTC such as 2026-11-20T08:00, today or yesterday")
      ->check(NotEmpty());
  command.add_option("--until", query.until, "Only cases that ended before this time")
      ->check(NotEmpty());
}

void AddSelectionOptions(CLI::App& command, ResultsQuery& query) {
  AddRangeOptions(command, query);
  command.add_flag("--failing", query.failing, "Only results with another outcome than ok");
}

}  // namespace assay::cli
