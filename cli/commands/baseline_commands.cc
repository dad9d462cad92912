// assay baseline set | list | show, assay annotate
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/commands/app.h"
#include "cli/commands/fetch_results.h"
#include "cli/views/baseline_view.h"
#include "cli/views/case_text.h"
#include "cli/views/format.h"
#include "cli/views/message_json.h"
#include "common/text.h"
#include "wire/timestamps.h"

namespace assay::cli {
namespace {

struct BaselineOptions {
  std::string name;
  ResultsQuery query;  // Of `set`.
  OutputFormat format = OutputFormat::kTable;
};

struct AnnotateOptions {
  std::string text;
  std::string time;
  std::string node;
  OutputFormat format = OutputFormat::kTable;
};

void PrintBaseline(const v1::Baseline& baseline, OutputFormat format) {
  if (format == OutputFormat::kJson) {
    Print(MessageJson(baseline) + "\n");
  } else if (format == OutputFormat::kCsv) {
    Print(BaselineCsv(baseline));
  } else {
    Print(BaselineText(baseline, StyleOf(STDOUT_FILENO)));
  }
}

Result<ExitCode> SetBaseline(Context& context, const BaselineOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::CreateBaselineRequest request;
  request.set_name(options.name);
  ASSAY_ASSIGN_OR_RETURN(*request.mutable_filter(), CompleteFilter(client, options.query));
  ASSAY_ASSIGN_OR_RETURN(const v1::CreateBaselineResponse response,
                         client.Call(&v1::NoteService::Stub::CreateBaseline, request));
  PrintBaseline(response.baseline(), options.format);
  return kExitDone;
}

Result<ExitCode> ListBaselines(Context& context, const BaselineOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  ASSAY_ASSIGN_OR_RETURN(
      const v1::ListBaselinesResponse response,
      client.Call(&v1::AnalysisService::Stub::ListBaselines, v1::ListBaselinesRequest()));
  const std::vector<v1::Baseline> baselines(response.baselines().begin(),
                                            response.baselines().end());
  if (options.format == OutputFormat::kJson) {
    JsonArray array;
    std::string json;
    for (const v1::Baseline& one : baselines) json += array.AddText(MessageJson(one));
    Print(json + array.Finish());
  } else if (options.format == OutputFormat::kCsv) {
    Print(BaselinesCsv(baselines));
  } else if (baselines.empty()) {
    PrintError("No baselines yet. Set one: assay baseline set NAME --filter FILTER\n");
  } else {
    Print(BaselinesTable(baselines, StyleOf(STDOUT_FILENO)));
  }
  return kExitDone;
}

Result<ExitCode> ShowBaseline(Context& context, const BaselineOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::GetBaselineRequest request;
  request.set_name(options.name);
  ASSAY_ASSIGN_OR_RETURN(const v1::GetBaselineResponse response,
                         client.Call(&v1::AnalysisService::Stub::GetBaseline, request));
  PrintBaseline(response.baseline(), options.format);
  return kExitDone;
}

void PrintAnnotation(const v1::Annotation& one, OutputFormat format) {
  if (format == OutputFormat::kJson) {
    Print(MessageJson(one) + "\n");
  } else if (format == OutputFormat::kCsv) {
    Print(CsvRecord({"annotation_id", "time", "text", "node_name", "created_by"}) +
          CsvRecord({one.annotation_id(), FormatTimeExact(one.time()), one.text(), one.node_name(),
                     one.created_by()}));
  } else {
    Print("Annotated " + MinuteText(one.time()) +
          (one.node_name().empty() ? "" : " on node " + Sanitize(one.node_name())) + ": " +
          Sanitize(one.text()) + "\n");
  }
}

Result<ExitCode> Annotate(Context& context, const AnnotateOptions& options) {
  v1::CreateAnnotationRequest request;
  v1::Annotation& annotation = *request.mutable_annotation();
  annotation.set_text(options.text);
  annotation.set_node_name(options.node);
  WallTime time = Clock::Real().WallNow();
  if (!options.time.empty()) {
    ASSAY_ASSIGN_OR_RETURN(time, ParseTimeOption("--time", options.time));
  }
  *annotation.mutable_time() = schema::ToTimestamp(time);
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  // Make a harmless call first, so that the client switches to a coordinator that responds. The
  // client cannot retry CreateAnnotation on another coordinator: if a call that seemed to fail had
  // actually succeeded, the retry would add a second annotation.
  ASSAY_RETURN_IF_ERROR(
      client.Call(&v1::AnalysisService::Stub::ListBaselines, v1::ListBaselinesRequest()).status());
  ASSAY_ASSIGN_OR_RETURN(const v1::CreateAnnotationResponse response,
                         client.Call(&v1::NoteService::Stub::CreateAnnotation, request));
  PrintAnnotation(response.annotation(), options.format);
  return kExitDone;
}

}  // namespace

void AddBaselineCommands(CLI::App& app, Context& context) {
  CLI::App* baseline =
      app.add_subcommand("baseline", "Named medians of cases, to compare later results with");
  baseline->require_subcommand(1);

  CLI::App* set = baseline->add_subcommand(
      "set", "Store the medians of matching results; replaces a baseline of the same name");
  auto set_options = std::make_shared<BaselineOptions>();
  set->add_option("name", set_options->name, "Name of the baseline")->required()->check(NotEmpty());
  AddRangeOptions(*set, set_options->query);
  AddOutputOption(*set, set_options->format);
  OnRun(*set, context, set_options, SetBaseline);

  CLI::App* list = baseline->add_subcommand("list", "List baselines");
  auto list_options = std::make_shared<BaselineOptions>();
  AddOutputOption(*list, list_options->format);
  OnRun(*list, context, list_options, ListBaselines);

  CLI::App* show = baseline->add_subcommand("show", "Show a baseline's cases");
  auto show_options = std::make_shared<BaselineOptions>();
  show->add_option("name", show_options->name, "Name of the baseline")
      ->required()
      ->check(NotEmpty());
  AddOutputOption(*show, show_options->format);
  OnRun(*show, context, show_options, ShowBaseline);
}

void AddAnnotateCommand(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("annotate", "Note what happened at a time, to be shown in histories");
  auto options = std::make_shared<AnnotateOptions>();
  command->add_option("text", options->text, "For example: moved to rack 7")
      ->required()
      ->check(NotEmpty());
  command
      ->add_option("--time", options->time,
                   "When: an age such as 12h, or a time in UTC such as 2026-11-20T08:00 (now)")
      ->check(NotEmpty());
  command->add_option("--node", options->node, "The node that it concerns; without it, the fleet")
      ->check(NotEmpty());
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, Annotate);
}

}  // namespace assay::cli
