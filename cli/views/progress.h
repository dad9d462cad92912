// What a watched campaign looks like: events as lines, and a display of the
// state. Pure: messages in, text out.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// Something that happened to a job, or what jobs wait for.
struct JobEvent {
  std::string text;
  // A failure, also one that will be retried.
  bool failure = false;
};

// The newest known state of one campaign. Not thread-safe.
class CampaignProgress {
 public:
  // Takes the message in and says what changed since the one before. A message
  // that repeats known state (after a reconnect) changes nothing.
  std::vector<JobEvent> Apply(const v1::WatchCampaignResponse& message);

  const v1::Campaign& campaign() const { return campaign_; }
  // Cancelled, or completed and judged.
  bool ended() const;
  // Every job has ended, and the rules are yet to be applied.
  bool awaits_verdict() const;

  // The live display: a bar with cases and jobs, then what jobs wait for, then a line a
  // running job, at most `kMostJobs`. `now` is in seconds since 1970. Never wider than the
  // style's width.
  std::vector<std::string> Render(const Style& style, double now) const;

  // Verdict, jobs, what was left out, what jobs wait for, and rules.
  std::string Summary(const Style& style) const;

  static constexpr size_t kMostJobs = 16;

 private:
  // What jobs wait for, where it differs from what was told.
  std::vector<std::string> NewWaits();
  std::vector<std::string> Waits() const;

  v1::Campaign campaign_;
  std::map<std::string, v1::Job> jobs_;
  std::set<std::string> told_waits_;  // Serialised, without the number of jobs.
};

// "PASSED", "FAILED", "CANCELLED", "running" with their tones.
Cell CampaignOutcome(const v1::Campaign& campaign);

// "queued", "running", "succeeded", ...
std::string JobStateName(v1::JobState state);

// "node-a GPU 0-3,6", or what is known of it.
std::string PlacementOf(const v1::Job& job);

// "gemm on node-a GPU 3, repetition 2", printable.
std::string JobName(const v1::Job& job);

// "TIMEOUT: took longer than 20m", printable.
std::string FailureText(const v1::Failure& failure);

// "3 queued, 1 running, 2 failed", leaving out zeros.
std::string DescribeJobs(const v1::JobCounts& jobs);

}  // namespace assay::cli
