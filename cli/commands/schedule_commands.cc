// assay schedule add | list | remove
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/campaign_file/campaign_file.h"
#include "cli/commands/app.h"
#include "cli/views/message_json.h"
#include "cli/views/schedule_view.h"
#include "common/text.h"

namespace assay::cli {
namespace {

struct ScheduleAddOptions {
  std::string file;
  std::string cron;
  std::string time_zone = "UTC";
  std::string name;
  std::string missed = "once";
  std::string overlap = "skip";
  bool dry_run = false;
};

struct ScheduleOptions {
  std::string name;
  OutputFormat format = OutputFormat::kTable;
};

Result<v1::ListSchedulesResponse> FetchSchedules(Client& client) {
  return client.Call(&v1::ScheduleService::Stub::ListSchedules, v1::ListSchedulesRequest());
}

// Says why no campaign could be created now.
void PrintMissingNodes(Client& client, const std::string& path, const v1::CampaignSpec& spec) {
  v1::CreateCampaignRequest request;
  *request.mutable_spec() = spec;
  request.set_validate_only(true);
  const Status now = client.Call(&v1::CampaignService::Stub::CreateCampaign, request).status();
  if (now.ok()) return;
  PrintError("assay: at present the campaign could not be created:\n");
  if (now.violations().empty()) {
    PrintError("  " + Sanitize(now.message()) + "\n");
  } else {
    PrintError(FormatViolations(path, now.violations()));
  }
}

Result<ExitCode> AddSchedule(Context& context, const ScheduleAddOptions& options) {
  static const std::map<std::string, v1::MissedRuns> kMissed = {{"once", v1::MISSED_RUNS_ONCE},
                                                                {"skip", v1::MISSED_RUNS_SKIP}};
  static const std::map<std::string, v1::Overlap> kOverlap = {
      {"skip", v1::OVERLAP_SKIP}, {"allow", v1::OVERLAP_ALLOW}, {"cancel", v1::OVERLAP_CANCEL}};
  ASSAY_ASSIGN_OR_RETURN(const CampaignFile file, ReadCampaignFile(options.file));
  if (!file.faults.empty()) {
    PrintError(FormatFaults(options.file, file.faults));
    return kExitUsage;
  }
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::CreateScheduleRequest request;
  v1::Schedule& schedule = *request.mutable_schedule();
  schedule.set_name(options.name.empty() ? file.spec.name() : options.name);
  schedule.set_cron(options.cron);
  schedule.set_time_zone(options.time_zone);
  schedule.set_missed_runs(kMissed.at(options.missed));
  schedule.set_overlap(kOverlap.at(options.overlap));
  *schedule.mutable_spec() = file.spec;
  request.set_validate_only(options.dry_run);
  // Make a harmless call first, so that the client switches to a coordinator that responds. The
  // client cannot retry CreateSchedule on another coordinator: if a call that seemed to fail had
  // actually succeeded, the retry would fail.
  ASSAY_RETURN_IF_ERROR(FetchSchedules(client).status());
  const Result<v1::CreateScheduleResponse> response =
      client.Call(&v1::ScheduleService::Stub::CreateSchedule, request);
  if (!response.ok()) return ReportOfFile(options.file, response.status());
  const std::string name = Sanitize(response->schedule().name());
  Print((options.dry_run ? Sanitize(options.file) + ": valid; would add schedule " + name +
                               ". Nothing was stored.\n"
                         : "Added schedule " + name + "\n") +
        ScheduleText(*response, StyleOf(STDOUT_FILENO)));
  if (!response->has_campaign()) PrintMissingNodes(client, options.file, file.spec);
  return kExitDone;
}

Result<ExitCode> ListSchedules(Context& context, const ScheduleOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  ASSAY_ASSIGN_OR_RETURN(const v1::ListSchedulesResponse response, FetchSchedules(client));
  const std::vector<v1::Schedule> schedules(response.schedules().begin(),
                                            response.schedules().end());
  if (options.format == OutputFormat::kJson) {
    JsonArray array;
    std::string json;
    for (const v1::Schedule& one : schedules) json += array.AddText(MessageJson(one));
    Print(json + array.Finish());
  } else if (options.format == OutputFormat::kCsv) {
    Print(SchedulesCsv(schedules));
  } else if (schedules.empty()) {
    PrintError("No schedules yet. Add one: assay schedule add FILE --cron \"0 2 * * *\"\n");
  } else {
    Print(SchedulesText(schedules, StyleOf(STDOUT_FILENO)));
  }
  return kExitDone;
}

Result<ExitCode> RemoveSchedule(Context& context, const ScheduleOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  // Make a harmless call first, so that the client switches to a coordinator that responds. The
  // client cannot retry DeleteSchedule on another coordinator: if a call that seemed to fail had
  // actually succeeded, the retry would fail.
  ASSAY_RETURN_IF_ERROR(FetchSchedules(client).status());
  v1::DeleteScheduleRequest request;
  request.set_schedule(options.name);
  ASSAY_RETURN_IF_ERROR(client.Call(&v1::ScheduleService::Stub::DeleteSchedule, request).status());
  Print("Removed schedule " + Sanitize(options.name) + "; its campaigns stay.\n");
  return kExitDone;
}

}  // namespace

void AddScheduleCommands(CLI::App& app, Context& context) {
  CLI::App* schedule = app.add_subcommand("schedule", "Campaigns that recur");
  schedule->require_subcommand(1);

  CLI::App* add = schedule->add_subcommand("add", "Run a campaign file again and again");
  auto add_options = std::make_shared<ScheduleAddOptions>();
  add->add_option("file", add_options->file, "Campaign file (YAML); - for standard input")
      ->required();
  add->add_option("--cron", add_options->cron,
                  "When, as in crontab: minute, hour, day of the month, month and day of the week, "
                  "for example \"0 2 * * 1-5\"; or @hourly, @daily, @weekly, @monthly, @yearly")
      ->required()
      ->check(NotEmpty());
  add->add_option("--time-zone", add_options->time_zone,
                  "Time zone of --cron, for example Europe/Berlin")
      ->capture_default_str()
      ->check(NotEmpty());
  add->add_option("--name", add_options->name, "Name of the schedule (default: the campaign's)")
      ->check(NotEmpty());
  add->add_option("--missed", add_options->missed,
                  "If no coordinator was there at the time: start one run later (once) or none "
                  "(skip)")
      ->capture_default_str()
      ->check(CLI::IsMember({"once", "skip"}));
  add->add_option("--overlap", add_options->overlap,
                  "If the campaign of an earlier run is active: skip the run, allow both, or "
                  "cancel the earlier campaign")
      ->capture_default_str()
      ->check(CLI::IsMember({"skip", "allow", "cancel"}));
  add->add_flag("--dry-run", add_options->dry_run, "Only check it and say when it would run");
  OnRun(*add, context, add_options, AddSchedule);

  CLI::App* list = schedule->add_subcommand("list", "List schedules and their last runs");
  auto list_options = std::make_shared<ScheduleOptions>();
  AddOutputOption(*list, list_options->format);
  list->footer(
      "LAST is the outcome of the last run: created if it created a campaign, which may have "
      "failed since.");
  OnRun(*list, context, list_options, ListSchedules);

  CLI::App* remove = schedule->add_subcommand("remove", "Remove a schedule; its campaigns stay");
  auto remove_options = std::make_shared<ScheduleOptions>();
  remove->add_option("schedule", remove_options->name, "Name or id")->required()->check(NotEmpty());
  OnRun(*remove, context, remove_options, RemoveSchedule);
}

}  // namespace assay::cli
