// assay campaign submit
#include <unistd.h>

#include <memory>
#include <optional>

#include "cli/campaign_file/campaign_file.h"
#include "cli/commands/app.h"
#include "cli/commands/pages.h"
#include "cli/commands/watch.h"
#include "cli/views/campaign_text.h"
#include "cli/views/estimate_text.h"
#include "cli/views/filter_guess.h"
#include "common/text.h"
#include "common/uuid.h"

namespace assay::cli {
namespace {

struct SubmitOptions {
  std::string file;
  bool watch = false;
  bool dry_run = false;
  bool id_only = false;  // -o name
  OutputFormat format = OutputFormat::kTable;
  std::string request_id;
};

// Warns of nodes that the file names but the fleet does not have.
void PrintUnknownNodes(Client& client, const std::string& path, const v1::CampaignSpec& spec) {
  const Result<Filter> filter = ParseFilter(spec.node_filter());
  if (!filter.ok() || !Mentions(*filter, "name")) return;
  const auto nodes =
      CollectPages(client, &v1::NodeService::Stub::ListNodes, v1::ListNodesRequest());
  if (!nodes.ok()) return;
  const auto line = spec.lines().find("nodes");
  const std::string place = line == spec.lines().end() ? "" : ":" + std::to_string(line->second);
  for (const std::string& unknown : UnknownNodes(*filter, *nodes)) {
    PrintError(Sanitize(path) + place + ": nodes: " + unknown + "\n");
  }
}

// Prints what was submitted, and where to watch it.
void PrintSubmitted(const v1::CreateCampaignResponse& response, const SubmitOptions& options) {
  const v1::Campaign& campaign = response.campaign();
  const std::string size = SizeText(campaign);
  const int width = StyleOf(STDOUT_FILENO).width;
  const std::string limits = CoverageText(campaign, width) + LeftOutText(campaign, width);
  if (options.dry_run) {
    return Print(Sanitize(options.file) + ": valid; would run " + size +
                 ". Nothing was submitted.\n" + limits +
                 EstimateText(response.estimate(), StyleOf(STDOUT_FILENO)));
  }
  const std::string id = Sanitize(campaign.campaign_id());
  const std::string submitted =
      "Submitted campaign " + Sanitize(campaign.name()) + " (" + id + "): " + size;
  Print(Wrap(submitted, width, 2) + "\n" + limits);
  if (!options.watch) Print("Watch it: assay campaign watch " + id + "\n");
}

Result<ExitCode> Submit(Context& context, const SubmitOptions& options) {
  if (options.id_only && options.dry_run) {
    return InvalidArgument("-o name prints the id of a campaign, and --dry-run creates none");
  }
  ASSAY_ASSIGN_OR_RETURN(const CampaignFile file, ReadCampaignFile(options.file));
  if (!file.faults.empty()) {
    PrintError(FormatFaults(options.file, file.faults));
    return kExitUsage;
  }
  // Must be created before the client starts threads.
  std::optional<Interrupt> interrupt;
  if (options.watch && !options.dry_run) interrupt.emplace();
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::CreateCampaignRequest request;
  *request.mutable_spec() = file.spec;
  request.set_request_id(options.request_id.empty() ? NewUuid() : Lower(options.request_id));
  request.set_validate_only(options.dry_run);
  const Result<v1::CreateCampaignResponse> response =
      client.Call(&v1::CampaignService::Stub::CreateCampaign, request);
  if (!response.ok()) {
    const ExitCode code = ReportOfFile(options.file, response.status());
    if (!response.status().violations().empty()) {
      PrintUnknownNodes(client, options.file, request.spec());
    }
    return code;
  }
  PrintUnknownNodes(client, options.file, request.spec());
  const v1::Campaign& campaign = response->campaign();
  const bool json = options.format == OutputFormat::kJson;
  if (options.id_only) {
    Print(Sanitize(campaign.campaign_id()) + "\n");
  } else if (!json) {
    PrintSubmitted(*response, options);
  } else if (!interrupt) {
    Print((response->has_estimate() ? ToJsonWith(campaign, "estimate", ToJson(response->estimate()))
                                    : ToJson(campaign)) +
          "\n");
  }
  if (!interrupt) return kExitDone;
  return WatchCampaign(client, campaign.campaign_id(), true, *interrupt,
                       json              ? Summary::kJson
                       : options.id_only ? Summary::kOnStderr
                                         : Summary::kOnStdout);
}

}  // namespace

ExitCode ReportOfFile(const std::string& path, const Status& status) {
  if (status.violations().empty()) return Report(status);
  PrintError(FormatViolations(path, status.violations()));
  if (!status.hint().empty()) PrintError("hint: " + Sanitize(status.hint()) + "\n");
  return ExitCodeOf(status);
}

void AddSubmitCommand(CLI::App& campaign, Context& context) {
  CLI::App* submit = campaign.add_subcommand("submit", "Check a campaign file and run it");
  auto options = std::make_shared<SubmitOptions>();
  submit->add_option("file", options->file, "Campaign file (YAML); - for standard input")
      ->required();
  submit->add_flag("-w,--watch", options->watch, "Watch it until it ends");
  submit->add_flag("--dry-run", options->dry_run,
                   "Only check it against the fleet and say what would run");
  AddRequestIdOption(*submit, options->request_id);
  submit
      ->add_option_function<std::string>(
          "-o,--output",
          [options](const std::string& form) {
            options->format = form == "json" ? OutputFormat::kJson : OutputFormat::kTable;
            options->id_only = form == "name";
          },
          "Form of the output: table, json (the campaign; with --watch as it ended) or name (only "
          "the campaign's id)")
      ->check(CLI::IsMember({"table", "json", "name"}))
      ->type_name("FORMAT");
  submit->footer(WatchExitStatus("submitted, valid (--dry-run), or passed (--watch)",
                                 "the campaign failed (--watch)",
                                 "the coordinator refused the campaign"));
  OnRun(*submit, context, options, Submit);
}

}  // namespace assay::cli
