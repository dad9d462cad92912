#include "cli/commands/watch.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cli/commands/live_display.h"
#include "cli/views/output.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr Duration kFirstBackoff = std::chrono::milliseconds(500);
constexpr Duration kLongestBackoff = std::chrono::seconds(5);
constexpr Duration kGiveUpAfter = std::chrono::seconds(60);

// True for the ways in which a stream ends if the coordinator stops.
bool IsInterruption(const Status& status) {
  return status.ok() || status.code() == Code::kUnavailable || status.code() == Code::kCancelled ||
         status.code() == Code::kAborted;
}

// Watches one campaign and reconnects when the stream breaks.
class Watcher {
 public:
  Watcher(Client& client, const std::string& campaign, bool contacted, Interrupt& interrupt)
      : client_(client),
        campaign_(campaign),
        contacted_(contacted),
        interrupt_(interrupt),
        display_(StyleOf(STDERR_FILENO)) {}

  // Returns OK if the campaign ended or the user stopped watching.
  Status Run() {
    Duration backoff = kFirstBackoff;
    MonotonicTime last_contact = Clock::Real().Now();
    while (true) {
      bool received = false;
      Status status = Stream(received);
      if (interrupt_.requested() || display_.progress().ended()) return Status::Ok();
      if (!contacted_ || !IsInterruption(status)) {
        display_.Close();
        return status;
      }
      if (received) {
        backoff = kFirstBackoff;
        last_contact = Clock::Real().Now();
      }
      if (Clock::Real().Now() - last_contact > kGiveUpAfter) {
        display_.Close();
        return status.ok()
                   ? Unavailable("the coordinator keeps closing the watch", Reason::kWatchClosed)
                   : status;
      }
      if (!display_.progress().awaits_verdict() && (received || backoff == kFirstBackoff)) {
        reconnecting_ = true;
        display_.Say(
            "Lost the connection to the coordinator; the campaign continues. Reconnecting for "
            "60 s ...");
      }
      if (interrupt_.WaitFor(backoff)) return Status::Ok();
      backoff = std::min(backoff * 2, kLongestBackoff);
    }
  }

  CampaignProgress Finish() {
    display_.Close();
    return display_.progress();
  }

 private:
  Status Stream(bool& received) {
    grpc::ClientContext context;
    v1::WatchCampaignRequest request;
    request.set_campaign(campaign_);
    interrupt_.SetAction([&context] { context.TryCancel(); });
    const auto reader = client_.campaigns().WatchCampaign(&context, request);
    v1::WatchCampaignResponse message;
    while (reader->Read(&message)) {
      if (reconnecting_) display_.Say("Connected again.");
      reconnecting_ = false;
      received = contacted_ = true;
      display_.Update(message);
      if (display_.progress().ended()) context.TryCancel();
    }
    const grpc::Status status = reader->Finish();
    interrupt_.SetAction(nullptr);
    return status.ok() ? Status::Ok() : client_.Explain(status);
  }

  Client& client_;
  const std::string campaign_;
  bool contacted_;
  bool reconnecting_ = false;  // The user was told that the coordinator is lost.
  Interrupt& interrupt_;
  LiveDisplay display_;
};

}  // namespace

ExitCode WatchCampaign(Client& client, const std::string& campaign, bool created,
                       Interrupt& interrupt, Summary summary) {
  Watcher watcher(client, campaign, created, interrupt);
  const Status status = watcher.Run();
  const CampaignProgress progress = watcher.Finish();
  if (!status.ok()) return Report(status);
  const std::string id = Sanitize(campaign);
  if (summary == Summary::kJson) Print(ToJson(progress.campaign()) + "\n");
  if (!progress.ended()) {
    PrintError(
        "Stopped watching; the campaign continues.\n  Watch it again:  assay campaign watch " + id +
        "\n  Cancel it:       assay campaign cancel " + id + "\n");
    return kExitDone;
  }
  if (summary != Summary::kJson) {
    const bool on_stdout = summary == Summary::kOnStdout;
    const auto print = on_stdout ? Print : PrintError;
    print(progress.Summary(StyleOf(on_stdout ? STDOUT_FILENO : STDERR_FILENO)));
    const std::string ended = Sanitize(progress.campaign().campaign_id());
    print(progress.campaign().cases_done() > 0
              ? "Its results: assay results --campaign " + ended + "\n"
              : "It has no results. To see its jobs: assay campaign show " + ended + "\n");
  }
  return progress.campaign().verdict() == v1::VERDICT_PASSED ? kExitDone : kExitFailed;
}

}  // namespace assay::cli
