// assay login, and assay context list | use | show | remove
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "cli/commands/app.h"
#include "cli/contexts/login.h"
#include "cli/views/context_view.h"
#include "common/text.h"
#include "wire/timestamps.h"

namespace assay::cli {
namespace {

struct LoginOptions {
  std::string url;
  std::string pin;
  std::string token;
};

struct ContextOptions {
  std::string name;
  OutputFormat format = OutputFormat::kTable;
};

Result<ExitCode> RunLogin(Context& context, const LoginOptions& options) {
  const identity::JoinPoint join{options.url, options.pin};
  // The global option --context, which normally chooses a context, names the new context here.
  const std::string& given = context.client.context;
  ASSAY_ASSIGN_OR_RETURN(const std::string host, HostOfUrl(options.url));
  const std::string name = given.empty() ? host : given;
  ASSAY_ASSIGN_OR_RETURN(const identity::Enrolled enrolled,
                         Login(ContextFolder(), name, join, options.token, ""));
  Print(Wrap("Logged in to fleet " + Sanitize(enrolled.fleet) + " as " + Sanitize(enrolled.name) +
                 " (" + Sanitize(enrolled.role) + "). Commands use it from now on, as context " +
                 name + ".",
             StyleOf(STDOUT_FILENO).width, 2) +
        "\n");
  if (context.client.coordinator_given) {
    PrintError(
        "assay: ASSAY_COORDINATOR is set, and wins over contexts; to use this one: unset "
        "ASSAY_COORDINATOR\n");
  }
  return kExitDone;
}

// Returns what is known about a context without asking its coordinator.
ContextRow Describe(const ContextFile& file, const std::string& name, const FleetContext& context) {
  ContextRow row;
  row.name = name;
  row.current = name == file.current;
  row.context = context;
  row.coordinator = context.coordinator;
  if (context.identity.empty()) return row;
  const auto enrolled = identity::LoadEnrolled(context.identity);
  if (!enrolled.ok()) {
    row.problem = enrolled.status().message();
  } else if (!*enrolled) {
    row.problem = "the identity " + context.identity + " does not exist";
  } else {
    row.enrolled = **enrolled;
    if (row.coordinator.empty()) row.coordinator = Join((*enrolled)->coordinators, ",");
  }
  return row;
}

Result<ExitCode> ListContexts(Context&, const ContextOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ContextFile file, LoadContexts(ContextFolder()));
  std::vector<ContextRow> rows;
  for (const auto& [name, context] : file.contexts) {
    rows.push_back(Describe(file, name, context));
  }
  if (options.format == OutputFormat::kJson) {
    JsonArray array;
    std::string json;
    for (const ContextRow& row : rows) json += array.AddText(ContextJson(row));
    Print(json + array.Finish());
  } else if (options.format == OutputFormat::kCsv) {
    Print(ContextsCsv(rows));
  } else if (rows.empty()) {
    PrintError("No contexts yet. Log in to a fleet: assay login URL --pin PIN TOKEN\n");
  } else {
    Print(ContextsText(rows, StyleOf(STDOUT_FILENO)));
  }
  return kExitDone;
}

Result<ExitCode> ShowContext(Context& app, const ContextOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ContextFile file, LoadContexts(ContextFolder()));
  const std::string& chosen = options.name.empty() ? app.client.context : options.name;
  const std::string& name = chosen.empty() ? file.current : chosen;
  if (name.empty()) {
    return NotFound("there is no current context")
        .WithHint("choose one: assay context use NAME; or log in: assay login URL --pin PIN TOKEN");
  }
  ASSAY_ASSIGN_OR_RETURN(const FleetContext context, FindContext(file, name));
  const ContextRow row = Describe(file, name, context);
  if (options.format == OutputFormat::kJson) {
    Print(ContextJson(row) + "\n");
  } else if (options.format == OutputFormat::kCsv) {
    Print(ContextsCsv({row}));
  } else {
    Print(ContextText(row));
  }
  return kExitDone;
}

Result<ExitCode> UseContext(Context&, const ContextOptions& options) {
  ASSAY_RETURN_IF_ERROR(ChangeContexts(ContextFolder(), [&](ContextFile& file) {
    ASSAY_RETURN_IF_ERROR(FindContext(file, options.name).status());
    file.current = options.name;
    return Status::Ok();
  }));
  Print("Commands use context " + options.name + " from now on.\n");
  return kExitDone;
}

Result<ExitCode> RemoveContext(Context&, const ContextOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const bool was_current, Logout(ContextFolder(), options.name));
  Print("Removed context " + options.name + (was_current ? ", which was the current one" : "") +
        ". To end the user's enrolment too, an admin can use: assay user remove NAME\n");
  return kExitDone;
}

}  // namespace

void AddLoginCommand(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("login", "Log in to a fleet with an invite");
  auto options = std::make_shared<LoginOptions>();
  command->add_option("url", options->url, "https://HOST:PORT where the coordinator accepts joins")
      ->required();
  command->add_option("token", options->token, "The invite's token")->required();
  command->add_option("--pin", options->pin, "SHA-256 of the coordinator's key, from the invite")
      ->required();
  command->footer(
      "An admin prints the whole line with `assay user invite`. --context names the new context "
      "(default: the host in the URL). The key is made here and never "
      "leaves this machine. Later commands need no further options: they find coordinator and "
      "certificate in the context, and renew the certificate.");
  OnRun(*command, context, options, RunLogin);
}

void AddContextCommands(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("context", "Fleets that this user has logged in to");
  command->require_subcommand(1);
  CLI::App* list = command->add_subcommand("list", "List contexts");
  auto list_options = std::make_shared<ContextOptions>();
  AddOutputOption(*list, list_options->format);
  OnRun(*list, context, list_options, ListContexts);

  CLI::App* use = command->add_subcommand("use", "Make a context the current one");
  auto use_options = std::make_shared<ContextOptions>();
  use->add_option("name", use_options->name, "Name of the context")->required();
  OnRun(*use, context, use_options, UseContext);

  CLI::App* show = command->add_subcommand("show", "Show a context");
  auto show_options = std::make_shared<ContextOptions>();
  show->add_option("name", show_options->name, "Name (default: the current one)");
  AddOutputOption(*show, show_options->format);
  OnRun(*show, context, show_options, ShowContext);

  CLI::App* remove = command->add_subcommand("remove", "Remove a context with its key");
  auto remove_options = std::make_shared<ContextOptions>();
  remove->add_option("name", remove_options->name, "Name of the context")->required();
  OnRun(*remove, context, remove_options, RemoveContext);
  // Set the footer last, because commands that are added later would inherit it.
  command->footer(
      "Contexts are kept in ~/.config/assay/config ($XDG_CONFIG_HOME/assay/config), which may be "
      "edited. --coordinator, ASSAY_COORDINATOR and the --tls options win over the context.");
}

}  // namespace assay::cli
