// assay campaign rerun
#include <unistd.h>

#include <memory>
#include <optional>

#include "cli/commands/app.h"
#include "cli/commands/watch.h"
#include "cli/views/campaign_text.h"
#include "common/text.h"
#include "common/uuid.h"

namespace assay::cli {
namespace {

struct RerunOptions {
  std::string campaign;
  bool failed = false;
  bool watch = false;
  std::string request_id;
};

Result<ExitCode> Rerun(Context& context, const RerunOptions& options) {
  // Must be created before the client starts threads.
  std::optional<Interrupt> interrupt;
  if (options.watch) interrupt.emplace();
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::RerunCampaignRequest request;
  request.set_campaign(options.campaign);
  request.set_failed_only(options.failed);
  request.set_request_id(options.request_id.empty() ? NewUuid() : Lower(options.request_id));
  ASSAY_ASSIGN_OR_RETURN(const v1::RerunCampaignResponse response,
                         client.Call(&v1::CampaignService::Stub::RerunCampaign, request));
  const v1::Campaign& campaign = response.campaign();
  const std::string id = Sanitize(campaign.campaign_id());
  const int width = StyleOf(STDOUT_FILENO).width;
  const std::string name = "Campaign " + Sanitize(campaign.name()) + " (" + id + ") runs again";
  Print(Wrap(name, width, 2) + "\n" + RerunText(campaign, width));
  if (!interrupt) {
    Print("Watch it: assay campaign watch " + id + "\n");
    return kExitDone;
  }
  return WatchCampaign(client, campaign.campaign_id(), true, *interrupt);
}

}  // namespace

void AddRerunCommand(CLI::App& campaign, Context& context) {
  CLI::App* rerun =
      campaign.add_subcommand("rerun", "Run the jobs of a campaign that has ended again");
  auto options = std::make_shared<RerunOptions>();
  rerun->add_option("campaign", options->campaign, "Id, or name (the newest of that name)")
      ->required();
  rerun->add_flag("--failed", options->failed,
                  "Only jobs that failed or were cancelled, and of them only cases without a "
                  "result");
  rerun->add_flag("-w,--watch", options->watch, "Watch it until it ends");
  AddRequestIdOption(*rerun, options->request_id);
  rerun->footer(
      "The campaign becomes active and loses its verdict. Without --failed, all jobs run again as "
      "the next repetitions, and the new verdict is of their results alone. Results are never "
      "replaced.\n" +
      WatchExitStatus("queued, or passed (--watch)", "the campaign failed (--watch)",
                      "there is no such campaign, it has not ended, it was imported, or it has no "
                      "job to run again"));
  OnRun(*rerun, context, options, Rerun);
}

}  // namespace assay::cli
