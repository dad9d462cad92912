#include "cli/commands/watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "cli/views/output.h"
#include "cli/views/progress.h"
#include "common/mutex.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr std::chrono::seconds kRedrawPeriod{1};
constexpr std::chrono::seconds kLinePeriod{60};

double NowSeconds() {
  return std::chrono::duration<double>(Clock::Real().WallNow().time_since_epoch()).count();
}

// A receiver of the messages of a watch. This base class only keeps the campaign's state.
class WatchOutput {
 public:
  virtual ~WatchOutput() = default;

  // Shows the changes that the message brings.
  virtual void Update(const v1::WatchCampaignResponse& message) { progress_.Apply(message); }
  // Shows a line about the connection.
  virtual void Say(const std::string&) {}
  // Removes output that is not permanent, such as the live display.
  virtual void Close() {}

  // After Close, or from the thread that calls Update.
  const CampaignProgress& progress() const { return progress_; }

 protected:
  CampaignProgress progress_;
};

// Prints one line of JSON per event on stdout.
class EventLines : public WatchOutput {
 public:
  void Update(const v1::WatchCampaignResponse& message) override {
    for (const JobEvent& event : progress_.Apply(message)) {
      if (event.job_id.empty()) continue;  // What jobs wait for is a part of the campaign.
      PrintEvent(event.name, "job", ToJson(progress_.job(event.job_id)));
    }
    v1::Campaign campaign = progress_.campaign();
    campaign.clear_spec();
    const bool judged = campaign.state() == v1::CAMPAIGN_STATE_COMPLETED;
    const v1::Estimate* estimate = progress_.estimate();
    PrintEvent(!progress_.ended() ? "progress"
               : judged           ? "verdict"
                                  : "cancelled",
               "campaign", ToJson(campaign), estimate == nullptr ? "" : ToJson(*estimate));
  }

  void Say(const std::string& line) override { PrintError(line + "\n"); }

 private:
  static void PrintEvent(const std::string& name, const std::string& member,
                         const std::string& json, const std::string& estimate = "") {
    Print("{\"event\":\"" + name + "\",\"" + member + "\":" + json +
          (estimate.empty() ? "" : ",\"estimate\":" + estimate) + "}\n");
  }
};

// A display of a campaign's progress on stderr. On a terminal, a background thread redraws it every
// second. Otherwise, the display prints one line per event, and a progress line at most once a
// minute if something has changed. Thread-safe.
class LiveDisplay : public WatchOutput {
 public:
  explicit LiveDisplay(const Style& style);
  ~LiveDisplay() override;
  LiveDisplay(const LiveDisplay&) = delete;
  LiveDisplay& operator=(const LiveDisplay&) = delete;

  void Update(const v1::WatchCampaignResponse& message) override;
  // Prints a line above the live display, where it stays.
  void Say(const std::string& line) override;
  // Removes the display and stops its thread. Printed lines stay.
  void Close() override;

 private:
  void Tick();
  // Redraws the display below the permanent `lines`.
  void Draw(const std::vector<std::string>& lines) ASSAY_REQUIRES(mutex_);

  const Style style_;
  const bool live_;

  Mutex mutex_;  // Guards progress_ too.
  CondVar closed_changed_;
  size_t drawn_lines_ ASSAY_GUARDED_BY(mutex_) = 0;
  bool seen_ ASSAY_GUARDED_BY(mutex_) = false;
  bool changed_ ASSAY_GUARDED_BY(mutex_) = false;  // Since the last line of progress.
  bool closed_ ASSAY_GUARDED_BY(mutex_) = false;
  std::thread ticker_;
};

LiveDisplay::LiveDisplay(const Style& style)
    : style_(style), live_(style.width > 0), ticker_([this] { Tick(); }) {}

LiveDisplay::~LiveDisplay() { LiveDisplay::Close(); }

void LiveDisplay::Update(const v1::WatchCampaignResponse& message) {
  const MutexLock lock(mutex_);
  std::vector<std::string> lines;
  for (const JobEvent& event : progress_.Apply(message, NowSeconds())) {
    // The live display shows running jobs anyway, so only failures get a permanent line.
    if (live_ && !event.failure) continue;
    lines.push_back(Paint(event.text, event.failure ? Tone::kBad : Tone::kPlain, style_.colour));
  }
  seen_ = changed_ = true;
  Draw(lines);
}

void LiveDisplay::Say(const std::string& line) {
  const MutexLock lock(mutex_);
  Draw({line});
}

void LiveDisplay::Close() {
  {
    const MutexLock lock(mutex_);
    if (!closed_) {
      closed_ = true;
      Draw({});
    }
    closed_changed_.NotifyAll();
  }
  if (ticker_.joinable()) ticker_.join();
}

void LiveDisplay::Tick() {
  const MutexLock lock(mutex_);
  auto next = std::chrono::steady_clock::now();
  while (!closed_) {
    next += live_ ? kRedrawPeriod : kLinePeriod;
    while (!closed_ && closed_changed_.WaitUntil(mutex_, next)) {
    }
    if (closed_) return;
    if (live_) {
      Draw({});
    } else if (changed_) {
      Draw({progress_.Line(NowSeconds())});
      changed_ = false;
    }
  }
}

void LiveDisplay::Draw(const std::vector<std::string>& lines) {
  std::string text;
  if (drawn_lines_ > 0) text += "\x1b[" + std::to_string(drawn_lines_) + "A\r\x1b[J";
  for (const std::string& line : lines) text += line + "\n";
  drawn_lines_ = 0;
  if (live_ && !closed_ && seen_) {
    // The terminal may have been resized since.
    const Style now = StyleOf(2);
    for (const std::string& line : progress_.Render(now.width > 0 ? now : style_, NowSeconds())) {
      text += line + "\n";
      ++drawn_lines_;
    }
  }
  if (!text.empty()) PrintError(text);
}

constexpr Duration kFirstBackoff = std::chrono::milliseconds(500);
constexpr Duration kLongestBackoff = std::chrono::seconds(5);
constexpr Duration kGiveUpAfter = std::chrono::seconds(60);

// Returns whether this error of a stream may mean that the coordinator stopped.
bool IsInterruption(const Status& status) {
  return status.code() == Code::kUnavailable || status.code() == Code::kCancelled ||
         status.code() == Code::kAborted;
}

std::unique_ptr<WatchOutput> MakeOutput(Summary summary) {
  if (summary == Summary::kEvents) return std::make_unique<EventLines>();
  if (summary == Summary::kLine) return std::make_unique<WatchOutput>();
  return std::make_unique<LiveDisplay>(StyleOf(STDERR_FILENO));
}

std::string WatchAgain(const std::string& campaign) {
  return "the campaign goes on; watch it again: assay campaign watch " + Sanitize(campaign);
}

// Watches one campaign and reconnects when the stream breaks.
class Watcher {
 public:
  Watcher(Client& client, const std::string& campaign, bool contacted, Interrupt& interrupt,
          WatchOutput& output, std::optional<WallTime> deadline)
      : client_(client),
        campaign_(campaign),
        contacted_(contacted),
        interrupt_(interrupt),
        output_(output),
        deadline_(deadline) {}

  // Returns OK if the campaign ended, the user stopped watching or the deadline passed.
  Status Run() {
    size_t refused = 0;  // Coordinators that could not be reached before the first contact.
    Duration backoff = kFirstBackoff;
    MonotonicTime last_contact = Clock::Real().Now();
    while (true) {
      bool received = false;
      Status status = Stream(received);
      if (interrupt_.requested() || output_.progress().ended() || timed_out()) return Status::Ok();
      if (status.ok()) {
        status = Unavailable("the coordinator keeps closing the watch", Reason::kWatchClosed);
      }
      if (!IsInterruption(status) || (!contacted_ && ++refused == client_.server_count())) {
        return status;
      }
      client_.MoveOn();
      if (!contacted_) continue;
      if (received) {
        backoff = kFirstBackoff;
        last_contact = Clock::Real().Now();
      }
      if (Clock::Real().Now() - last_contact > kGiveUpAfter) {
        return status.WithHint(WatchAgain(campaign_));
      }
      if (!output_.progress().awaits_verdict() && (received || backoff == kFirstBackoff)) {
        reconnecting_ = true;
        output_.Say(
            "Lost the connection to the coordinator; the campaign continues. Reconnecting for "
            "60 s ...");
      }
      if (interrupt_.WaitFor(backoff) || timed_out()) return Status::Ok();
      backoff = std::min(backoff * 2, kLongestBackoff);
    }
  }

  // Returns whether the campaign is known to have existed.
  bool contacted() const { return contacted_; }
  bool timed_out() const { return deadline_ && Clock::Real().WallNow() >= *deadline_; }
  // Returns the campaign's id, or the name that was given if no coordinator has answered yet.
  const std::string& campaign() const { return campaign_; }

 private:
  Status Stream(bool& received) {
    grpc::ClientContext context;
    if (deadline_) context.set_deadline(*deadline_);
    v1::WatchCampaignRequest request;
    request.set_campaign(campaign_);
    interrupt_.SetAction([&context] { context.TryCancel(); });
    const auto reader = client_.stub<v1::CampaignService::Stub>().WatchCampaign(&context, request);
    v1::WatchCampaignResponse message;
    while (reader->Read(&message)) {
      client_.NoteAnswer();
      if (reconnecting_) output_.Say("Connected again.");
      reconnecting_ = false;
      received = contacted_ = true;
      // Use the id from now on, because a newer campaign may get the same name.
      campaign_ = message.campaign().campaign_id();
      output_.Update(message);
      if (output_.progress().ended()) context.TryCancel();
    }
    const grpc::Status status = reader->Finish();
    interrupt_.SetAction(nullptr);
    return status.ok() ? Status::Ok() : client_.Explain(status);
  }

  Client& client_;
  std::string campaign_;
  bool contacted_;
  bool reconnecting_ = false;  // The user was told that the connection is lost.
  Interrupt& interrupt_;
  WatchOutput& output_;
  const std::optional<WallTime> deadline_;
};

// Prints the end of the campaign in the form of `summary`.
void PrintEnd(const CampaignProgress& progress, Summary summary) {
  if (summary == Summary::kEvents || summary == Summary::kJson) return;
  if (summary == Summary::kLine) return Print(progress.Headline(StyleOf(STDOUT_FILENO)) + "\n");
  const bool on_stdout = summary == Summary::kOnStdout;
  const auto print = on_stdout ? Print : PrintError;
  print(progress.Summary(StyleOf(on_stdout ? STDOUT_FILENO : STDERR_FILENO)));
  const std::string ended = Sanitize(progress.campaign().campaign_id());
  print(progress.campaign().cases_done() > 0
            ? "Its results: assay results --campaign " + ended + "\n"
            : "It has no results. To see its jobs: assay campaign show " + ended + "\n");
}

}  // namespace

std::string WatchExitStatus(const std::string& done, const std::string& failed,
                            const std::string& refused, bool timeout) {
  return "Exit status: 0 " + done + "; 1 " + failed +
         "; 2 the command line or a file is wrong; 3 the coordinator is unreachable, or was so for "
         "60 s of a watch; 4 " +
         refused + (timeout ? "; 124 the timeout" : "") +
         "; 130 or 143 SIGINT or SIGTERM ended the watch. After 3, " + (timeout ? "124, " : "") +
         "130 and 143, campaigns go on.";
}

ExitCode WatchCampaign(Client& client, const std::string& campaign, bool created,
                       Interrupt& interrupt, Summary summary, std::optional<WallTime> deadline) {
  const std::unique_ptr<WatchOutput> output = MakeOutput(summary);
  Watcher watcher(client, campaign, created, interrupt, *output, deadline);
  const Status status = watcher.Run();
  output->Close();
  const CampaignProgress& progress = output->progress();
  if (status.code() == Code::kNotFound && watcher.contacted()) {
    return Report(
        NotFound("campaign " + Quote(watcher.campaign()) + " was removed", status.reason())
            .WithHint("it ended, and was older than the coordinator's --keep-results"));
  }
  if (!status.ok()) return Report(status);
  if (summary == Summary::kJson) Print(ToJson(progress.campaign()) + "\n");
  if (progress.ended()) {
    PrintEnd(progress, summary);
    return progress.campaign().verdict() == v1::VERDICT_PASSED ? kExitDone : kExitFailed;
  }
  PrintError((interrupt.requested() ? "Interrupted; " : "Timed out; ") +
             WatchAgain(watcher.campaign()) + "\n");
  return interrupt.requested() ? interrupt.exit_code() : kExitTimedOut;
}

}  // namespace assay::cli
