#include "cli/commands/live_display.h"

#include <chrono>

#include "cli/views/output.h"
#include "common/clock.h"

namespace assay::cli {
namespace {

constexpr std::chrono::seconds kRedrawPeriod{1};

double NowSeconds() {
  return std::chrono::duration<double>(Clock::Real().WallNow().time_since_epoch()).count();
}

}  // namespace

LiveDisplay::LiveDisplay(const Style& style) : style_(style), live_(style.width > 0) {
  if (live_) ticker_ = std::thread([this] { Tick(); });
}

LiveDisplay::~LiveDisplay() { Close(); }

void LiveDisplay::Update(const v1::WatchCampaignResponse& message) {
  const MutexLock lock(mutex_);
  std::vector<std::string> lines;
  for (const JobEvent& event : progress_.Apply(message)) {
    // The display itself shows what runs; only failures are worth a line.
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

}  // namespace assay::cli
