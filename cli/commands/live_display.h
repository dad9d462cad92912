// Shows a watched campaign on stderr: redrawn in place on a terminal, otherwise one line per event.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "cli/views/progress.h"
#include "cli/views/table.h"
#include "common/mutex.h"

namespace assay::cli {

// Thread-safe. On a terminal, a thread redraws it every second to update the times.
class LiveDisplay {
 public:
  explicit LiveDisplay(const Style& style);
  ~LiveDisplay();
  LiveDisplay(const LiveDisplay&) = delete;
  LiveDisplay& operator=(const LiveDisplay&) = delete;

  // Shows the changes that the message brings.
  void Update(const v1::WatchCampaignResponse& message);

  // Prints a permanent line above the display.
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

}  // namespace assay::cli
