// assay regressions
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/app.h"
#include "cli/commands/pages.h"
#include "cli/views/case_text.h"
#include "cli/views/message_json.h"
#include "cli/views/regressions_view.h"
#include "common/text.h"
#include "common/uuid.h"

namespace assay::cli {
namespace {

constexpr int kTextLimit = 20;

struct RegressionsOptions {
  const CLI::App* command = nullptr;  // "assay regressions".
  bool all = false;
  bool simulated = false;
  bool verbose = false;
  bool exit_code = false;
  std::string incident;  // An id or its beginning.
  std::string node;
  std::optional<int> limit;
  OutputFormat format = OutputFormat::kTable;
};

struct AcknowledgeOptions {
  std::string id;
  std::string note;
  bool false_alarm = false;
  OutputFormat format = OutputFormat::kTable;
};

Result<v1::ListRegressionsResponse> FetchRegressions(Client& client,
                                                     const v1::ListRegressionsRequest& request) {
  v1::ListRegressionsResponse all;
  ASSAY_RETURN_IF_ERROR(ForEachPage(client, &v1::AnalysisService::Stub::ListRegressions, request,
                                    kNoLimit, [&all](v1::ListRegressionsResponse& page) {
                                      page.clear_next_page_token();
                                      all.MergeFrom(page);
                                      return Status::Ok();
                                    }));
  return all;
}

// Returns the id of the only incident whose id begins with `prefix`.
Result<std::string> FindIncident(Client& client, const RegressionsOptions& options) {
  const std::string prefix = Lower(options.incident);
  if (IsUuid(prefix)) return prefix;
  v1::ListRegressionsRequest request;
  request.set_include_closed(true);
  request.set_simulated(options.simulated);
  request.set_page_size(1);
  ASSAY_ASSIGN_OR_RETURN(const v1::ListRegressionsResponse response,
                         client.Call(&v1::AnalysisService::Stub::ListRegressions, request));
  std::vector<std::string> ids;
  for (const v1::Incident& one : response.incidents()) {
    if (one.incident_id().starts_with(prefix)) ids.push_back(one.incident_id());
  }
  if (ids.size() == 1) return ids[0];
  if (ids.empty()) {
    return NotFound("no incident's id begins with " + Quote(options.incident))
        .WithHint(options.simulated ? "to list them: assay regressions --all --simulated"
                                    : "to list them: assay regressions --all; those of simulated "
                                      "nodes need --simulated");
  }
  return InvalidArgument(Quote(options.incident) + " is the beginning of " +
                         Counted(static_cast<int64_t>(ids.size()), "incident") + ": " +
                         JoinSome(ids, 4));
}

// Removes incidents that have no regression in the list. The coordinator sends the incidents of all
// nodes, even if the user asked for the regressions of only one.
void KeepIncidentsOfRegressions(v1::ListRegressionsResponse& found) {
  std::set<std::string> ids;
  for (const v1::Regression& one : found.regressions()) ids.insert(one.incident_id());
  auto& incidents = *found.mutable_incidents();
  incidents.erase(std::remove_if(incidents.begin(), incidents.end(),
                                 [&](const v1::Incident& incident) {
                                   return ids.count(incident.incident_id()) == 0;
                                 }),
                  incidents.end());
}

void PrintText(const v1::ListRegressionsResponse& found, const RegressionsOptions& options) {
  if (!found.has_judged_until()) {
    PrintError(
        "No results were judged yet. The coordinator looks for regressions once a case has about "
        "ten runs on one GPU; run a campaign regularly, for example every night.\n");
    return;
  }
  const std::string until = "Results are judged up to " + MinuteText(found.judged_until()) + ".\n";
  if (found.incidents().empty() && found.regressions().empty()) {
    const bool narrowed = !options.node.empty() || !options.incident.empty();
    PrintError(std::string("No ") + (options.all ? "" : "open ") + "regressions" +
               (narrowed ? " match. " : ". ") + until +
               (options.all ? "" : "To list resolved and cleared ones too: --all\n"));
    return;
  }
  const Style style = StyleOf(STDOUT_FILENO);
  std::string text = IncidentsTable(found, style);
  const bool details = options.verbose || !options.incident.empty() || !options.node.empty() ||
                       found.incidents().empty();
  if (details && !found.regressions().empty()) {
    text += (text.empty() ? "" : "\n") +
            RegressionsText(found, options.limit.value_or(kTextLimit), style);
  }
  Print(text);
  if (!details) PrintError("For the regressions of one: assay regressions --incident ID\n");
}

Result<ExitCode> List(Context& context, const RegressionsOptions& options) {
  // The parser also calls this function after a subcommand, which has already set the exit code.
  if (!options.command->get_subcommands().empty()) return context.exit_code;
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::ListRegressionsRequest request;
  request.set_include_closed(options.all || !options.incident.empty());
  request.set_node_name(options.node);
  request.set_simulated(options.simulated);
  if (!options.incident.empty()) {
    ASSAY_ASSIGN_OR_RETURN(*request.mutable_incident_id(), FindIncident(client, options));
  }
  ASSAY_ASSIGN_OR_RETURN(v1::ListRegressionsResponse found, FetchRegressions(client, request));
  if (!options.incident.empty() || !options.node.empty()) KeepIncidentsOfRegressions(found);
  if (options.format == OutputFormat::kJson) {
    Print(MessageJson(found) + "\n");
  } else if (options.format == OutputFormat::kCsv) {
    Print(RegressionsCsv(found));
  } else {
    PrintText(found, options);
  }
  return options.exit_code && HasConfirmed(found) ? kExitFailed : kExitDone;
}

Result<ExitCode> Acknowledge(Context& context, const AcknowledgeOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::AcknowledgeRegressionRequest request;
  request.set_id(options.id);
  request.set_note(options.note);
  request.set_false_alarm(options.false_alarm);
  ASSAY_ASSIGN_OR_RETURN(const v1::AcknowledgeRegressionResponse response,
                         client.Call(&v1::NoteService::Stub::AcknowledgeRegression, request));
  const int count = response.acknowledged_count();
  if (options.format == OutputFormat::kJson) {
    Print(MessageJson(response) + "\n");
  } else if (options.format == OutputFormat::kCsv) {
    Print(CsvRecord({"acknowledged_count"}) + CsvRecord({std::to_string(count)}));
  } else {
    Print("Acknowledged " + Counted(count, "regression") +
          (options.false_alarm ? " as a false alarm" : "") + ".\n");
  }
  return kExitDone;
}

void AddAcknowledgeCommand(CLI::App& regressions, Context& context) {
  CLI::App* command = regressions.add_subcommand(
      "ack", "Take note of a regression, or of all regressions of an incident");
  auto options = std::make_shared<AcknowledgeOptions>();
  command->add_option("id", options->id, "Id of a regression or an incident, or its beginning")
      ->required()
      ->check(NotEmpty());
  command->add_option("--note", options->note, "Why, for example: new fan ordered")
      ->required()
      ->check(NotEmpty());
  command->add_flag("--false-alarm", options->false_alarm,
                    "Nothing was wrong; counts against the precision of the detection");
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, Acknowledge);
}

}  // namespace

void AddRegressionsCommand(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "regressions", "List cases that became slower, grouped by their common cause");
  command->footer(
      "STATE is detected until reruns at other times confirm or clear it. SCOPE says what a rerun "
      "on a peer showed: \"only here\" if the peer is as fast as before, \"fleet\" if it became "
      "slower too. With --exit-code, exit status 1 means that a confirmed regression is open.");
  auto options = std::make_shared<RegressionsOptions>();
  options->command = command;
  command->add_flag("--all", options->all, "Resolved and cleared ones too");
  command
      ->add_option("--incident", options->incident,
                   "Only this incident, with its regressions: id or its beginning")
      ->check(NotEmpty())
      ->type_name("ID");
  command->add_option("--node", options->node, "Only on this node, with the regressions")
      ->check(NotEmpty());
  command->add_flag("--simulated", options->simulated, "Of simulated nodes instead of real ones");
  command->add_flag("-v,--verbose", options->verbose,
                    "With each regression: what changed with it, and its reruns");
  command->add_flag("--exit-code", options->exit_code,
                    "Exit with 1 if a listed regression is confirmed and not acknowledged");
  command
      ->add_option("-n,--limit", options->limit,
                   "At most this many regressions in the text (20); 0 for all")
      ->check(NotNegative());
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, List);
  AddAcknowledgeCommand(*command, context);
}

}  // namespace assay::cli
