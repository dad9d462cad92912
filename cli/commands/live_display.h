// Shows a watched campaign on stderr: redrawn in place on a terminal, one plain
// line an event anywhere else.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "cli/views/progress.h"
#include "cli/views/table.h"
#include "common/mutex.h"

namespace assay::cli {

// Thread-safe. On a terminal a thread redraws it every second, so that times tick.
class LiveDisplay {
 public:
  explicit LiveDisplay(const Style& style);
  ~LiveDisplay();
  LiveDisplay(const LiveDisplay&) = delete;
  LiveDisplay& operator=(const LiveDisplay&) = delete;

  // Takes the message in and shows what changed.
  void Update(const v1::WatchCampaignResponse& message);

  // A line that stays, above the display.
  void Say(const std::string& line);

  // Removes the display and ends its redrawing; what was said stays.
  void Close();

  // After Close, or from the thread that calls Update.
  const CampaignProgress& progress() const { return progress_; }

 private:
  void Tick();
  // Replaces what is on the screen, with `lines` that stay above it.
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

}  // namespace assay::cli
