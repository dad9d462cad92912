// assay campaign watch | wait
#include <memory>
#include <optional>
#include <vector>

#include "cli/commands/app.h"
#include "cli/commands/watch.h"
#include "common/text.h"
#include "common/units.h"

namespace assay::cli {
namespace {

struct WatchOptions {
  std::string campaign;
  Summary summary = Summary::kOnStdout;
};

struct WaitOptions {
  std::vector<std::string> campaigns;
  std::string timeout;
};

Result<ExitCode> Watch(Context& context, const WatchOptions& options) {
  Interrupt interrupt;
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  return WatchCampaign(client, options.campaign, false, interrupt, options.summary);
}

// Waits for the campaigns one after the other. Ends early if the wait for one of them fails.
Result<ExitCode> Wait(Context& context, const WaitOptions& options) {
  std::optional<WallTime> deadline;
  if (!options.timeout.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const Duration timeout, ParseDuration(options.timeout));
    deadline = Clock::Real().WallNow() + timeout;
  }
  Interrupt interrupt;
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  // Look up all campaigns before the first wait, so that a wrong name is reported at once.
  std::vector<std::string> ids;
  for (const std::string& campaign : options.campaigns) {
    v1::GetCampaignRequest request;
    request.set_campaign(campaign);
    ASSAY_ASSIGN_OR_RETURN(const v1::GetCampaignResponse found,
                           client.Call(&v1::CampaignService::Stub::GetCampaign, request));
    ids.push_back(found.campaign().campaign_id());
  }
  ExitCode worst = kExitDone;
  for (const std::string& id : ids) {
    const ExitCode code = WatchCampaign(client, id, true, interrupt, Summary::kLine, deadline);
    if (code != kExitDone && code != kExitFailed) return code;
    if (code == kExitFailed) worst = code;
  }
  return worst;
}

}  // namespace

void AddWatchCommands(CLI::App& campaign, Context& context) {
  CLI::App* watch = campaign.add_subcommand("watch", "Watch a campaign until it ends");
  auto watch_options = std::make_shared<WatchOptions>();
  watch->add_option("campaign", watch_options->campaign, "Id, or name (the newest of that name)")
      ->required();
  watch
      ->add_option_function<std::string>(
          "-o,--output",
          [watch_options](const std::string& form) {
            watch_options->summary = form == "json" ? Summary::kEvents : Summary::kOnStdout;
          },
          "Form of the output: table, or json (one line per event: job_started, job_done, "
          "job_failed, job_skipped, job_cancelled, job_retried, job_moved, progress; the last is "
          "verdict or cancelled)")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("FORMAT");
  watch->footer(WatchExitStatus("the campaign passed", "it failed", "there is no such campaign"));
  OnRun(*watch, context, watch_options, Watch);

  CLI::App* wait = campaign.add_subcommand("wait", "Wait until campaigns end, one line for each");
  auto wait_options = std::make_shared<WaitOptions>();
  wait->add_option("campaigns", wait_options->campaigns, "Ids, or names (the newest of each name)")
      ->required();
  wait->add_option("--timeout", wait_options->timeout, "At most so long: 90s, 30m, 2h")
      ->check(CLI::Validator(
          [](const std::string& value) {
            const Result<Duration> timeout = ParseDuration(value);
            return timeout.ok() ? std::string() : timeout.status().message();
          },
          ""))
      ->type_name("DURATION");
  wait->footer(WatchExitStatus("all passed", "one failed or was cancelled",
                               "there is no such campaign, or it was removed", /*timeout=*/true));
  OnRun(*wait, context, wait_options, Wait);
}

}  // namespace assay::cli
