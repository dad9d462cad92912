// assay pairs
#include <unistd.h>

#include <memory>

#include "cli/commands/app.h"
#include "cli/commands/fetch_results.h"
#include "cli/commands/pages.h"
#include "cli/views/campaign_text.h"
#include "cli/views/pairs_view.h"
#include "cli/views/result_marks.h"
#include "cli/views/table.h"
#include "common/text.h"

namespace assay::cli {
namespace {

struct PairsOptions {
  std::string campaign;
  std::string metric;
  double threshold = 10;  // Percent.
  OutputFormat format = OutputFormat::kTable;
};

Result<std::vector<v1::Job>> FetchJobs(Client& client, const std::string& campaign) {
  v1::ListJobsRequest request;
  request.set_campaign(campaign);
  return CollectPages(client, &v1::CampaignService::Stub::ListJobs, request);
}

// Prints on stderr how many jobs of the campaign are not done yet and which nodes they are waiting
// for. `name` is the campaign's name or id, as given by the user.
void PrintWaiting(const v1::Campaign& campaign, const std::string& name, size_t jobs) {
  if (jobs == 0) return;
  const auto count = static_cast<int64_t>(jobs);
  PrintError(Counted(count, "job") + Plural(count, " is", " are") + " still to be done.\n");
  const auto& waiting = campaign.waiting();
  if (waiting.empty()) return;
  for (const std::string& line : WaitingLines({waiting.begin(), waiting.end()})) {
    PrintError("  " + Wrap(line, StyleOf(STDERR_FILENO).width - 2, 2) + "\n");
  }
  PrintError("  Start the agents there, or end the campaign: assay campaign cancel " + name + "\n");
}

Result<analysis::PairReport> FetchReport(Client& client, const PairsOptions& options) {
  ResultsQuery query;
  query.campaign = options.campaign;
  // Even with --metric, fetch the results of all metrics, so that the error for an unknown metric
  // can list the known ones. The filter must include failed cases explicitly, because they have no
  // metric.
  if (!options.metric.empty())
    query.filter = "primary = true OR primary = false OR outcome != \"ok\"";
  ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::StoredResult> results, FetchResults(client, query));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::Job> jobs, FetchJobs(client, options.campaign));
  return analysis::MakePairReport(results, jobs,
                                  {options.metric, options.threshold / 100, DoubtsOf});
}

Result<ExitCode> Pairs(Context& context, const PairsOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::GetCampaignRequest request;
  request.set_campaign(options.campaign);
  ASSAY_ASSIGN_OR_RETURN(const v1::GetCampaignResponse found,
                         client.Call(&v1::CampaignService::Stub::GetCampaign, request));
  const v1::Coverage& coverage = found.campaign().coverage();
  ASSAY_ASSIGN_OR_RETURN(analysis::PairReport report, FetchReport(client, options));
  report.absent_nodes.assign(coverage.absent_nodes().begin(), coverage.absent_nodes().end());
  if (options.format == OutputFormat::kJson) {
    Print(PairsJson(report));
  } else if (options.format == OutputFormat::kCsv) {
    Print(PairsCsv(report));
  } else {
    if (report.cases.empty()) {
      PrintError(report.waiting_jobs > 0
                     ? "The campaign has no results on two nodes yet.\n"
                     : "The campaign has no results on two nodes; `placement: pairs` measures "
                       "them.\n");
    }
    const Style style = StyleOf(STDOUT_FILENO);
    Print(PairsText(report, style));
    if (coverage.absent_node_count() > 0) Print("\n" + CoverageText(found.campaign(), style.width));
    PrintWaiting(found.campaign(), options.campaign, report.waiting_jobs);
  }
  return report.verdict() == analysis::Verdict::kClear ? kExitDone : kExitFailed;
}

}  // namespace

void AddPairsCommand(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "pairs", "Show measurements between every two nodes, and name bad nodes and links");
  auto options = std::make_shared<PairsOptions>();
  command->add_option("campaign", options->campaign, "Id, or name (the newest of that name)")
      ->required();
  command->footer(
      "Exit status 0 means that every pair was measured and none is bad. Status 1 means that a "
      "node "
      "or link is bad, a pair failed, or that this is undecided; \"verdict\" in JSON says which.");
  command->add_option("--metric", options->metric, "Instead of the benchmark's primary metric")
      ->check(NotEmpty());
  command
      ->add_option("--threshold", options->threshold,
                   "A node or link that is worse than the others by so many percent is bad, from 1 "
                   "to 90 (10)")
      ->check(NumberWithin(1, 90))
      ->type_name("PERCENT");
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, Pairs);
}

}  // namespace assay::cli
