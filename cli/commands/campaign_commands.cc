// assay campaign list | show | export | cancel; its other commands have files of their own.
#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "cli/campaign_file/campaign_file.h"
#include "cli/commands/app.h"
#include "cli/commands/pages.h"
#include "cli/views/campaign_report.h"
#include "cli/views/campaign_text.h"
#include "cli/views/format.h"
#include "cli/views/progress.h"
#include "cli/views/result_text.h"
#include "cli/views/table.h"
#include "common/text.h"
#include "wire/reasons.h"

namespace assay::cli {
namespace {

struct ListOptions {
  OutputFormat format = OutputFormat::kTable;
  int limit = 20;
};

struct NameOptions {
  std::string campaign;
  std::string format = "table";  // Of `show`.
};

Table CampaignTable(const std::vector<v1::Campaign>& campaigns) {
  Table table({{"ID"},
               {"NAME"},
               {"STATE"},
               {"CASES", Align::kRight},
               {"ABSENT", Align::kLeft, 3},
               {"JOBS", Align::kLeft, 1},
               {"CREATED", Align::kLeft, 2}});
  for (const v1::Campaign& campaign : campaigns) {
    std::string cases =
        std::to_string(campaign.cases_done()) + "/" + std::to_string(campaign.case_count());
    if (const int64_t left_out = LeftOutCases(campaign); left_out > 0) {
      cases += ", " + std::to_string(left_out) + " left out";
    }
    const v1::Coverage& coverage = campaign.coverage();
    const std::string absent = coverage.absent_node_count() == 0
                                   ? ""
                                   : std::to_string(coverage.absent_node_count()) + " of " +
                                         Counted(coverage.node_count(), "node");
    table.Add({campaign.campaign_id(), campaign.name(), CampaignOutcome(campaign), cases, absent,
               DescribeJobs(campaign.jobs()), FormatTime(campaign.create_time())});
  }
  return table;
}

std::string CampaignCsv(const std::vector<v1::Campaign>& campaigns) {
  std::string csv = CsvRecord({"campaign_id", "name", "state", "verdict", "priority", "cases_done",
                               "case_count", "jobs_queued", "jobs_running", "jobs_succeeded",
                               "jobs_failed", "jobs_cancelled", "jobs_skipped", "create_time",
                               "end_time", "cases_left_out", "node_count", "absent_node_count"});
  for (const v1::Campaign& c : campaigns) {
    csv += CsvRecord({c.campaign_id(), c.name(), v1::CampaignState_Name(c.state()),
                      v1::Verdict_Name(c.verdict()), std::to_string(c.priority()),
                      std::to_string(c.cases_done()), std::to_string(c.case_count()),
                      std::to_string(c.jobs().queued()), std::to_string(c.jobs().running()),
                      std::to_string(c.jobs().succeeded()), std::to_string(c.jobs().failed()),
                      std::to_string(c.jobs().cancelled()), std::to_string(c.jobs().skipped()),
                      FormatTimeExact(c.create_time()), FormatTimeExact(c.end_time()),
                      std::to_string(LeftOutCases(c)), std::to_string(c.coverage().node_count()),
                      std::to_string(c.coverage().absent_node_count())});
  }
  return csv;
}

Result<ExitCode> List(Context& context, const ListOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  ASSAY_ASSIGN_OR_RETURN(const auto campaigns,
                         CollectPages(client, &v1::CampaignService::Stub::ListCampaigns,
                                      v1::ListCampaignsRequest(), options.limit));
  if (options.format == OutputFormat::kJson) {
    Print(ToJsonArray(campaigns));
  } else if (options.format == OutputFormat::kCsv) {
    Print(CampaignCsv(campaigns));
  } else if (campaigns.empty()) {
    PrintError("No campaigns yet. Submit one: assay campaign submit FILE --watch\n");
  } else {
    Print(CampaignTable(campaigns).Render(StyleOf(STDOUT_FILENO)));
  }
  return kExitDone;
}

// Returns what happens to a job after a failed attempt, or an empty string if it failed for good.
std::string_view AfterFailure(const v1::Job& job) {
  switch (job.state()) {
    case v1::JOB_STATE_SUCCEEDED:
      return "succeeded after a failed attempt: ";
    case v1::JOB_STATE_QUEUED:
    case v1::JOB_STATE_RUNNING:
      return "retried after a failed attempt: ";
    default:
      return "";
  }
}

// Returns MovedText of the job's last failure if the job will run again without using up a retry.
std::string MovedTextOf(const v1::Job& job) {
  return AfterFailure(job).empty() ? "" : MovedText(job.failure());
}

Table JobTable(const std::vector<v1::Job>& jobs) {
  Table table({{"BENCHMARK"},
               {"PLACE"},
               {"REP", Align::kRight, 2},
               {"STATE"},
               {"CASES", Align::kRight},
               {"TRIES", Align::kRight, 3},
               {"FAILURE"}});
  for (const v1::Job& job : jobs) {
    const Tone tone = job.state() == v1::JOB_STATE_FAILED      ? Tone::kBad
                      : job.state() == v1::JOB_STATE_SUCCEEDED ? Tone::kGood
                                                               : Tone::kPlain;
    table.Add({job.benchmark(), PlacementOf(job), std::to_string(job.repetition()),
               Cell(JobStateName(job.state()), tone),
               std::to_string(job.cases_done()) + "/" + std::to_string(job.case_count()),
               std::to_string(job.attempts()),
               MovedTextOf(job).empty() ? ReasonWord(job.failure().reason()) : ""});
  }
  return table;
}

// Lists the failures below the table of jobs: failed jobs first, then jobs with a failed attempt.
std::string DescribeFailures(const std::vector<v1::Job>& jobs, const Style& style) {
  constexpr int kMost = 20;
  std::string text;
  int failures = 0;
  for (const bool final_failure : {true, false}) {
    for (const v1::Job& job : jobs) {
      const std::string after(AfterFailure(job));
      if (!job.has_failure() || after.empty() != final_failure || ++failures > kMost) continue;
      const std::string moved = MovedTextOf(job);
      const std::string what = moved.empty() ? after + FailureText(job.failure()) : moved;
      text += Wrap(JobName(job) + ": " + what, style.width, 4) + "\n";
    }
  }
  if (failures > kMost) text += "and " + std::to_string(failures - kMost) + " more failures\n";
  return text.empty() ? "" : "\n" + text;
}

void PrintCampaign(const v1::Campaign& campaign, const std::vector<v1::Job>& jobs) {
  const Style style = StyleOf(STDOUT_FILENO);
  CampaignProgress progress;
  v1::WatchCampaignResponse state;
  *state.mutable_campaign() = campaign;
  progress.Apply(state);
  Print(progress.Summary(style));
  if (!jobs.empty()) Print("\n" + JobTable(jobs).Render(style) + DescribeFailures(jobs, style));
}

Result<ExitCode> Show(Context& context, const NameOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::GetCampaignRequest request;
  request.set_campaign(options.campaign);
  ASSAY_ASSIGN_OR_RETURN(const v1::GetCampaignResponse response,
                         client.Call(&v1::CampaignService::Stub::GetCampaign, request));
  if (options.format == "csv") {
    Print(CampaignCsv({response.campaign()}));
    return kExitDone;
  }
  v1::ListJobsRequest jobs_request;
  jobs_request.set_campaign(response.campaign().campaign_id());
  ASSAY_ASSIGN_OR_RETURN(const auto jobs,
                         CollectPages(client, &v1::CampaignService::Stub::ListJobs, jobs_request));
  if (options.format == "json") {
    // The member `jobs` already has the numbers of jobs by state.
    Print(ToJsonWith(response.campaign(), "job_list", ToJsonArray(jobs)) + "\n");
  } else if (options.format == "junit") {
    Print(CampaignJunit(response.campaign(), jobs));
  } else if (options.format == "markdown") {
    Print(CampaignMarkdown(response.campaign(), jobs));
  } else {
    PrintCampaign(response.campaign(), jobs);
  }
  return kExitDone;
}

Result<ExitCode> Export(Context& context, const NameOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::GetCampaignRequest request;
  request.set_campaign(options.campaign);
  ASSAY_ASSIGN_OR_RETURN(const v1::GetCampaignResponse response,
                         client.Call(&v1::CampaignService::Stub::GetCampaign, request));
  const v1::CampaignSpec& spec = response.campaign().spec();
  if (spec.benchmarks().empty()) {
    return FailedPrecondition("campaign " + Quote(options.campaign) +
                              " was imported and has no campaign file");
  }
  Print(CampaignYaml(spec));
  return kExitDone;
}

Result<ExitCode> Cancel(Context& context, const NameOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::CancelCampaignRequest request;
  request.set_campaign(options.campaign);
  ASSAY_ASSIGN_OR_RETURN(const v1::CancelCampaignResponse response,
                         client.Call(&v1::CampaignService::Stub::CancelCampaign, request));
  const v1::Campaign& campaign = response.campaign();
  const std::string name =
      "campaign " + Sanitize(campaign.name()) + " (" + Sanitize(campaign.campaign_id()) + ")";
  if (campaign.state() == v1::CAMPAIGN_STATE_COMPLETED) {
    Print("Nothing to cancel: " + name + " has ended: " + CampaignOutcome(campaign).text + "\n");
  } else {
    Print("Cancelled " + name + ": " + DescribeJobs(campaign.jobs()) + "\n");
  }
  return kExitDone;
}

// Requests a pause or its end.
template <typename Request, typename Response, typename Method>
Result<ExitCode> SetPaused(Context& context, const NameOptions& options, Method method) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  Request request;
  request.set_campaign(options.campaign);
  ASSAY_ASSIGN_OR_RETURN(const Response response, client.Call(method, request));
  const v1::Campaign& campaign = response.campaign();
  const std::string name =
      "campaign " + Sanitize(campaign.name()) + " (" + Sanitize(campaign.campaign_id()) + ")";
  Print((campaign.has_pause_time() ? "Paused " : "Resumed ") + name + ": " +
        DescribeJobs(campaign.jobs()) + "\n");
  return kExitDone;
}

Result<ExitCode> Pause(Context& context, const NameOptions& options) {
  return SetPaused<v1::PauseCampaignRequest, v1::PauseCampaignResponse>(
      context, options, &v1::CampaignService::Stub::PauseCampaign);
}

Result<ExitCode> Resume(Context& context, const NameOptions& options) {
  return SetPaused<v1::ResumeCampaignRequest, v1::ResumeCampaignResponse>(
      context, options, &v1::CampaignService::Stub::ResumeCampaign);
}

}  // namespace

void AddCampaignCommands(CLI::App& app, Context& context) {
  CLI::App* campaign =
      app.add_subcommand("campaign", "Check, submit, watch, pause, cancel and rerun campaigns");
  campaign->require_subcommand(1);

  AddSubmitCommand(*campaign, context);
  AddCheckCommand(*campaign, context);

  CLI::App* list = campaign->add_subcommand("list", "List campaigns, newest first");
  auto list_options = std::make_shared<ListOptions>();
  list->add_option("-n,--limit", list_options->limit, "At most this many; 0 for all")
      ->capture_default_str()
      ->check(NotNegative());
  AddOutputOption(*list, list_options->format);
  OnRun(*list, context, list_options, List);

  const auto add = [&](const char* name, const char* description, auto action) {
    CLI::App* command = campaign->add_subcommand(name, description);
    auto options = std::make_shared<NameOptions>();
    command->add_option("campaign", options->campaign, "Id, or name (the newest of that name)")
        ->required();
    OnRun(*command, context, options, action);
    return std::pair(command, options);
  };
  const auto [show, show_options] =
      add("show", "Show a campaign's state, verdict and jobs (in JSON: job_list)", Show);
  show->add_option("-o,--output", show_options->format,
                   "Form of the output: table, json, csv, junit (XML with one test case per accept "
                   "rule and failed job) or markdown (for a comment on a pull request)")
      ->check(CLI::IsMember({"table", "json", "csv", "junit", "markdown"}))
      ->type_name("FORMAT");
  add("export", "Print a campaign file that submits the same campaign again", Export)
      .first->footer(
          "The file is written from the stored campaign, so it has no comments, and fields that "
          "have their defaults are left out.");
  AddWatchCommands(*campaign, context);
  add("cancel", "Cancel a campaign: stop what runs, drop what waits", Cancel);
  add("pause", "Start no more jobs of a campaign; running jobs go on", Pause);
  add("resume", "Let a paused campaign go on", Resume);
  AddRerunCommand(*campaign, context);
}

}  // namespace assay::cli
