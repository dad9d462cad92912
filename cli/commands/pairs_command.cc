// assay pairs
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>

#include "cli/commands/context.h"
#include "cli/commands/fetch_results.h"
#include "cli/commands/pages.h"
#include "cli/views/pairs_view.h"
#include "cli/views/utf8.h"
#include "cli/views/waiting_text.h"

namespace assay::cli {
namespace {

struct PairsOptions {
  std::string campaign;
  std::string metric;
  double threshold = 10;  // Percent.
  OutputFormat format = OutputFormat::kTable;
};

Result<std::vector<v1::Job>> JobsOf(Client& client, const std::string& campaign) {
  v1::ListJobsRequest request;
  request.set_campaign(campaign);
  return CollectPages<v1::Job>(client, &v1::CampaignService::Stub::ListJobs, client.campaigns(),
                               request, kNoLimit,
                               [](v1::ListJobsResponse& page) { return page.mutable_jobs(); });
}

void PrintPairsTable(const std::vector<PairCase>& cases, const std::vector<v1::Job>& jobs) {
  const bool to_come = std::any_of(jobs.begin(), jobs.end(), [](const v1::Job& job) {
    return IsToBeDone(job) && job.node_names_size() == 2;
  });
  if (cases.empty()) {
    PrintError(to_come ? "The campaign has no results on two nodes yet.\n"
                       : "The campaign has no results on two nodes; `placement: pairs` measures "
                         "them.\n");
  }
  Print(PairsText(cases, StyleOf(STDOUT_FILENO)));
}

// How many are to come, and what keeps them from it.
void PrintWaiting(Client& client, const std::string& name, const std::vector<v1::Job>& jobs) {
  const auto waiting = std::count_if(jobs.begin(), jobs.end(), IsToBeDone);
  if (waiting == 0) return;
  PrintError(std::to_string(waiting) +
             (waiting == 1 ? " job is still to be done.\n" : " jobs are still to be done.\n"));
  v1::GetCampaignRequest request;
  request.set_campaign(name);
  const auto found =
      client.Call(&v1::CampaignService::Stub::GetCampaign, client.campaigns(), request);
  if (!found.ok() || found->campaign().waiting().empty()) return;
  const auto& absent = found->campaign().waiting();
  for (const std::string& line : WaitingLines({absent.begin(), absent.end()})) {
    PrintError("  " + Wrap(line, StyleOf(STDERR_FILENO).width - 2, 2) + "\n");
  }
  PrintError("  Start the agents there, or end the campaign: assay campaign cancel " + name + "\n");
}

// As a value in a filter.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// What is to be shown, and cases that failed. An error if no result has the metric.
Result<std::vector<v1::StoredResult>> ResultsOf(Client& client, const PairsOptions& options) {
  ResultsQuery query;
  query.campaign = options.campaign;
  if (options.metric.empty()) return FetchResults(client, query);
  // A case that failed has no metric.
  query.filter = "metric = " + Quoted(options.metric) + " OR outcome != \"ok\"";
  ASSAY_ASSIGN_OR_RETURN(std::vector<v1::StoredResult> results, FetchResults(client, query));
  std::set<std::string> benchmarks;
  for (const v1::StoredResult& result : results) {
    const v1::CaseResult& run = result.case_result();
    if (!run.measurements().empty() && run.measurements(0).metric() == options.metric) {
      benchmarks.insert(run.benchmark());
    }
  }
  if (!benchmarks.empty()) {
    // The failures of others would stand beside none of their values.
    std::erase_if(results, [&](const v1::StoredResult& result) {
      return benchmarks.count(result.case_result().benchmark()) == 0;
    });
    return results;
  }
  query.filter = "primary = true OR primary = false";
  ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::StoredResult> all, FetchResults(client, query));
  ASSAY_RETURN_IF_ERROR(CheckPairMetric(all, options.campaign, options.metric));
  return results;
}

ExitCode Pairs(Context& context, const PairsOptions& options) {
  Result<Client> client = Client::ToCoordinator(context.client);
  if (!client.ok()) return Report(client.status());
  const auto results = ResultsOf(*client, options);
  if (!results.ok()) return Report(results.status());
  auto jobs = JobsOf(*client, options.campaign);
  if (!jobs.ok()) return Report(jobs.status());
  if (!options.metric.empty()) {
    std::erase_if(*jobs, [&](const v1::Job& job) {
      return std::none_of(results->begin(), results->end(), [&](const auto& result) {
        return result.case_result().benchmark() == job.benchmark();
      });
    });
  }
  const std::vector<PairCase> cases = PairCases(*results, *jobs, options.threshold / 100);
  switch (options.format) {
    case OutputFormat::kJson:
      Print(PairsJson(cases));
      break;
    case OutputFormat::kCsv:
      Print(PairsCsv(cases));
      break;
    case OutputFormat::kTable:
      PrintPairsTable(cases, *jobs);
      PrintWaiting(*client, options.campaign, *jobs);
      break;
  }
  if (std::any_of(cases.begin(), cases.end(), AnyBad)) return kExitFailed;
  const bool clear = std::all_of(cases.begin(), cases.end(), IsClear);
  return clear && !cases.empty() ? kExitDone : kExitUndecided;
}

}  // namespace

void AddPairsCommand(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "pairs", "Show what every two nodes reached together, and which node or link is bad");
  auto options = std::make_shared<PairsOptions>();
  command->add_option("campaign", options->campaign, "Id, or name (the newest of that name)")
      ->required();
  command->add_option("--metric", options->metric, "Instead of the benchmark's primary metric")
      ->check(NotEmpty());
  command
      ->add_option("--threshold", options->threshold,
                   "By how many percent a bad node or link is worse than the others, from 1 to "
                   "90 (10)")
      ->check(NumberWithin(1, 90))
      ->type_name("PERCENT");
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, Pairs);
}

}  // namespace assay::cli
