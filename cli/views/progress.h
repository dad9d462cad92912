// Renders the progress of a campaign: events as lines, and a live display of its state. No I/O.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// A change of a job, or a change of what jobs wait for.
struct JobEvent {
  std::string text;
  // The job failed, even if it will be retried.
  bool failure = false;
  // The name in `watch -o json`, such as "job_started".
  std::string name = "jobs_wait";
  // Empty if the event is no change of one job.
  std::string job_id = "";
};

// The latest known state of one campaign. Not thread-safe.
class CampaignProgress {
 public:
  // Updates the campaign's progress from a coordinator's message and returns what has changed, or
  // nothing if the message only repeats known facts, for example after a reconnect. `now` is in
  // seconds since 1970.
  std::vector<JobEvent> Apply(const v1::WatchCampaignResponse& message, double now = 0);

  const v1::Campaign& campaign() const { return campaign_; }
  // Returns the estimate of the remaining time in the last message, or null if there was none.
  const v1::Estimate* estimate() const { return estimate_ ? &*estimate_ : nullptr; }
  // Returns true if the campaign was cancelled, or if all its jobs have finished and its verdict is
  // known.
  bool ended() const;
  // Returns true if every job has ended but the rules have not been applied yet.
  bool awaits_verdict() const;

  // Returns the lines of the live display: a progress bar, the time left, the nodes that queued
  // jobs are waiting for, and one line for each of at most `kMostJobs` running jobs. `now` is in
  // seconds since 1970. No line is wider than `style` allows.
  std::vector<std::string> Render(const Style& style, double now) const;

  // Returns one line for output that is not a terminal: "12/40 cases after 3m00s: 2 running".
  std::string Line(double now) const;

  // Returns the job's latest state. Requires an id from a JobEvent.
  const v1::Job& job(const std::string& job_id) const { return jobs_.at(job_id); }

  // Returns one line with the outcome: "Campaign nightly (ID): PASSED in 3m20s".
  std::string Headline(const Style& style) const;

  // Returns text with the campaign's verdict, the job counts, the covered nodes, the cases left
  // out, the nodes that jobs are waiting for, and the outcomes of the accept rules.
  std::string Summary(const Style& style) const;

  static constexpr size_t kMostJobs = 16;

 private:
  // Returns descriptions of what jobs wait for, leaving out those that were reported before.
  std::vector<std::string> NewWaits();
  std::vector<std::string> Waits() const;

  // Returns when the campaign may end. Empty if that is unknown.
  std::string TimeLeft(double now) const;

  v1::Campaign campaign_;
  std::optional<v1::Estimate> estimate_;
  double estimated_at_ = 0;  // In seconds since 1970.
  std::map<std::string, v1::Job> jobs_;
  bool told_pause_ = false;
  std::set<std::string> told_waits_;  // Serialized messages without the number of jobs.
};

// Returns "PASSED", "FAILED", "CANCELLED" or "running" in its color.
Cell CampaignOutcome(const v1::Campaign& campaign);

// Returns "queued", "running", "succeeded", ...
std::string JobStateName(v1::JobState state);

// Returns "node-a GPU 0-3,6", or less if less is known.
std::string PlacementOf(const v1::Job& job);

// Describes a job attempt that ended because the agent was stopped or the node was drained. The job
// runs again without using up a retry. Returns an empty string for other failures.
std::string MovedText(const v1::Failure& failure);

// Returns "gemm on node-a GPU 3, repetition 2". Printable.
std::string JobName(const v1::Job& job);

// Returns "3 queued, 1 running, 2 failed" without zeros.
std::string DescribeJobs(const v1::JobCounts& jobs);

}  // namespace assay::cli
