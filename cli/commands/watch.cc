#include "cli/commands/watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "cli/views/output.h"
#include "cli/views/progress.h"
#include "common/mutex.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr std::chrono::seconds kRedrawPeriod{1};

double NowSeconds() {
  return std::chrono::duration<double>(Clock::Real().WallNow().time_since_epoch()).count();
}

// Displays the progress of a campaign on stderr. On a terminal, a background thread redraws the
// display every second. Otherwise, prints one line per event. Thread-safe.
class LiveDisplay {
 public:
  explicit LiveDisplay(const Style& style);
  ~LiveDisplay();
  LiveDisplay(const LiveDisplay&) = delete;
  LiveDisplay& operator=(const LiveDisplay&) = delete;

  // Shows the changes that the message brings.
  void Update(const v1::WatchCampaignResponse& message);

  // Prints a line above the live display, where it stays.
  void Say(const std::string& line);

  // Removes the display and stops its thread. Printed lines stay.
  void Close();

  // After Close, or from the thread that calls Update.
  const CampaignProgress& progress() const { return progress_; }

 private:
  void Tick();
  // Redraws the display below the permanent `lines`.
  void Draw(const std::vector<std::string>& lines) ASSAY_REQUIRES(mutex_);

  const Style style_;
  const bool live_;

  Mutex mutex_;
  CondVar closed_changed_;
  CampaignProgress progress_;
  size_t drawn_lines_ ASSAY_GUARDED_BY(mutex_) = 0;
  bool seen_ ASSAY_GUARDED_BY(mutex_) = false;
  bool closed_ ASSAY_GUARDED_BY(mutex_) = false;
  std::thread ticker_;
};

LiveDisplay::LiveDisplay(const Style& style) : style_(style), live_(style.width > 0) {
  if (live_) ticker_ = std::thread([this] { Tick(); });
}

LiveDisplay::~LiveDisplay() { Close(); }

void LiveDisplay::Update(const v1::WatchCampaignResponse& message) {
  const MutexLock lock(mutex_);
  std::vector<std::string> lines;
  for (const JobEvent& event : progress_.Apply(message)) {
    // The live display shows running jobs anyway, so only failures get a permanent line.
    if (live_ && !event.failure) continue;
    lines.push_back(Paint(event.text, event.failure ? Tone::kBad : Tone::kPlain, style_.colour));
  }
  seen_ = true;
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
  while (!closed_) {
    closed_changed_.WaitUntil(mutex_, std::chrono::steady_clock::now() + kRedrawPeriod);
    if (!closed_) Draw({});
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
    size_t refused = 0;  // Coordinators that could not be reached before the first contact.
    Duration backoff = kFirstBackoff;
    MonotonicTime last_contact = Clock::Real().Now();
    while (true) {
      bool received = false;
      Status status = Stream(received);
      if (interrupt_.requested() || display_.progress().ended()) return Status::Ok();
      if (status.ok()) {
        status = Unavailable("the coordinator keeps closing the watch", Reason::kWatchClosed);
      }
      if (!IsInterruption(status) || (!contacted_ && ++refused == client_.server_count())) {
        display_.Close();
        return status;
      }
      client_.MoveOn();
      if (!contacted_) continue;
      if (received) {
        backoff = kFirstBackoff;
        last_contact = Clock::Real().Now();
      }
      if (Clock::Real().Now() - last_contact > kGiveUpAfter) {
        display_.Close();
        return status;
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
    const auto reader = client_.stub<v1::CampaignService::Stub>().WatchCampaign(&context, request);
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
  bool reconnecting_ = false;  // The user was told that the connection is lost.
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
    PrintError("Interrupted. The campaign goes on; to watch it again: assay campaign watch " + id +
               "\n");
    return interrupt.exit_code();
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
