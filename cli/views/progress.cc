#include "cli/views/progress.h"

#include <algorithm>
#include <cmath>

#include "cli/views/campaign_text.h"
#include "cli/views/estimate_text.h"
#include "cli/views/result_text.h"
#include "cli/views/table.h"
#include "common/text.h"
#include "common/units.h"

namespace assay::cli {
namespace {

double Seconds(const google::protobuf::Timestamp& time) {
  return static_cast<double>(time.seconds()) + time.nanos() * 1e-9;
}

// Returns when the campaign began, or began to run again, in seconds since 1970.
double BeginOf(const v1::Campaign& campaign) {
  return Seconds(campaign.reruns().empty() ? campaign.create_time()
                                           : campaign.reruns().rbegin()->time());
}

// Returns sorted GPU indices with ranges: "0-3,6".
std::string IndexRanges(const google::protobuf::RepeatedField<int32_t>& given) {
  std::vector<int64_t> indices(given.begin(), given.end());
  std::sort(indices.begin(), indices.end());
  std::string text;
  for (size_t i = 0; i < indices.size();) {
    size_t last = i;
    while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(indices[i]);
    if (last > i) text += (last > i + 1 ? "-" : ",") + std::to_string(indices[last]);
    i = last + 1;
  }
  return text;
}

// Returns how long a job took, for example " in 25.3s". Returns an empty string if the duration is
// not positive, which happens for imported jobs or if the clocks of different machines disagree.
std::string Took(double from, double to) {
  if (to <= from) return "";
  const auto duration = std::chrono::duration<double>(std::min(to - from, 1e9));  // Fits the cast.
  return " in " + FormatDuration(std::chrono::duration_cast<Duration>(duration));
}

// Formats a running time in whole seconds.
std::string ElapsedWhole(double from, double to) {
  const long long seconds = std::llround(std::min(std::max(to - from, 0.0), 1e9));
  return seconds < 60 ? std::to_string(seconds) + "s"
                      : FormatDuration(std::chrono::seconds(seconds));
}

std::string Cases(const v1::Job& job) {
  return std::to_string(job.cases_done()) + "/" + Counted(job.case_count(), "case");
}

JobEvent EndEvent(const v1::Job& job) {
  const std::string took = job.has_start_time() && job.has_end_time()
                               ? Took(Seconds(job.start_time()), Seconds(job.end_time()))
                               : "";
  switch (job.state()) {
    case v1::JOB_STATE_SUCCEEDED:
      return {JobName(job) + ": done, " + Cases(job) + took, false, "job_done"};
    case v1::JOB_STATE_SKIPPED:
      return {JobName(job) + ": skipped, unsupported there" +
                  (job.has_failure() ? " (" + FailureText(job.failure()) + ")" : ""),
              false, "job_skipped"};
    case v1::JOB_STATE_CANCELLED:
      return {JobName(job) + ": cancelled after " + Cases(job), false, "job_cancelled"};
    default:
      return {
          JobName(job) + ": FAILED after " + Cases(job) + took + ": " + FailureText(job.failure()),
          true, "job_failed"};
  }
}

// Describes the change from `before` to `after`; empty text for no change.
JobEvent Difference(const v1::Job* before, const v1::Job& after) {
  const v1::JobState was = before != nullptr ? before->state() : v1::JOB_STATE_UNSPECIFIED;
  const bool same_attempt = before != nullptr && before->epoch() == after.epoch();
  switch (after.state()) {
    case v1::JOB_STATE_RUNNING:
      if (was == v1::JOB_STATE_RUNNING && same_attempt) return {};
      return {JobName(after) + ": started" +
                  (after.attempts() > 1 ? ", attempt " + std::to_string(after.attempts()) : ""),
              false, "job_started"};
    case v1::JOB_STATE_QUEUED:
      if (was != v1::JOB_STATE_RUNNING || !after.has_failure()) return {};
      if (const std::string moved = MovedText(after.failure()); !moved.empty()) {
        return {JobName(after) + ": " + moved, false, "job_moved"};
      }
      return {JobName(after) + ": attempt " + std::to_string(after.attempts()) +
                  " failed and will be retried: " + FailureText(after.failure()),
              true, "job_retried"};
    case v1::JOB_STATE_UNSPECIFIED:
      return {};
    default:
      return was == after.state() ? JobEvent{} : EndEvent(after);
  }
}

std::string Bar(int done, int total, int width) {
  const double share =
      total > 0 ? std::min(1.0, static_cast<double>(std::max(done, 0)) / total) : 0;
  const int filled = static_cast<int>(std::floor(share * width));
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i < filled ? "\u2588" : "\u2591";
  return bar;
}

}  // namespace

std::string MovedText(const v1::Failure& failure) {
  if (failure.reason() == v1::REASON_AGENT_STOPPED) {
    return "handed back: its agent was stopped, which spends no retry";
  }
  if (failure.reason() == v1::REASON_NODE_DRAINED) {
    return "queued again: " + Sanitize(failure.message()) + ", which spends no retry";
  }
  return "";
}

std::string JobName(const v1::Job& job) {
  std::string name = job.benchmark();
  if (const std::string place = PlacementOf(job); !place.empty()) name += " on " + place;
  // Repetition 1 is left out, because most campaigns have only one.
  if (job.repetition() > 1) name += ", repetition " + std::to_string(job.repetition());
  return Sanitize(name);
}

Cell CampaignOutcome(const v1::Campaign& campaign) {
  if (campaign.state() == v1::CAMPAIGN_STATE_CANCELLED) return {"CANCELLED", Tone::kDoubtful};
  if (campaign.verdict() == v1::VERDICT_PASSED) return {"PASSED", Tone::kGood};
  if (campaign.verdict() == v1::VERDICT_FAILED) return {"FAILED", Tone::kBad};
  if (campaign.state() == v1::CAMPAIGN_STATE_COMPLETED) return {"completed", Tone::kPlain};
  if (campaign.has_pause_time()) return {"paused", Tone::kDoubtful};
  return {campaign.jobs().running() > 0 ? "running" : "queued", Tone::kPlain};
}

std::string JobStateName(v1::JobState state) {
  constexpr std::string_view kPrefix = "JOB_STATE_";
  const std::string& name = v1::JobState_Name(state);
  return name.starts_with(kPrefix) ? Lower(name.substr(kPrefix.size())) : "unknown";
}

std::string PlacementOf(const v1::Job& job) {
  constexpr size_t kMostNodes = 3;
  std::string text = JoinSome({job.node_names().begin(), job.node_names().end()}, kMostNodes,
                              static_cast<size_t>(std::max(job.more_node_count(), 0)));
  if (job.gpu_indices_size() > 0) text += " GPU " + IndexRanges(job.gpu_indices());
  return text;
}

std::string DescribeJobs(const v1::JobCounts& jobs) {
  const std::pair<int, const char*> counts[] = {
      {jobs.queued(), "queued"}, {jobs.running(), "running"},     {jobs.succeeded(), "succeeded"},
      {jobs.failed(), "failed"}, {jobs.cancelled(), "cancelled"}, {jobs.skipped(), "skipped"}};
  std::vector<std::string> parts;
  for (const auto& [count, name] : counts) {
    if (count > 0) parts.push_back(std::to_string(count) + " " + name);
  }
  return parts.empty() ? "no jobs" : Join(parts);
}

std::vector<JobEvent> CampaignProgress::Apply(const v1::WatchCampaignResponse& message,
                                              double now) {
  std::vector<JobEvent> events;
  campaign_ = message.campaign();
  estimate_.reset();
  if (message.has_estimate()) estimate_ = message.estimate();
  estimated_at_ = now;
  for (const v1::Job& job : message.jobs()) {
    const auto known = jobs_.find(job.job_id());
    JobEvent event = Difference(known == jobs_.end() ? nullptr : &known->second, job);
    event.job_id = job.job_id();
    if (!event.text.empty()) events.push_back(std::move(event));
    jobs_[job.job_id()] = job;
  }
  if (campaign_.has_pause_time() && !told_pause_) events.push_back({PausedText(campaign_), false});
  told_pause_ = campaign_.has_pause_time();
  for (std::string& line : NewWaits()) events.push_back({std::move(line), false});
  return events;
}

std::vector<std::string> CampaignProgress::NewWaits() {
  std::set<std::string> waits;
  std::vector<v1::WaitingJobs> fresh;
  for (const v1::WaitingJobs& waiting : campaign_.waiting()) {
    v1::WaitingJobs key = waiting;
    key.clear_jobs();
    std::string bytes = key.SerializeAsString();
    if (told_waits_.count(bytes) == 0) fresh.push_back(waiting);
    waits.insert(std::move(bytes));
  }
  // Report when jobs begin to wait for nodes, but not when they stop waiting. The start of each job
  // is reported anyway, and a coordinator that has just restarted does not know right away which
  // jobs are waiting.
  told_waits_ = std::move(waits);
  return WaitingLines(fresh);
}

std::vector<std::string> CampaignProgress::Waits() const {
  if (campaign_.has_pause_time()) return {PausedText(campaign_)};
  return WaitingLines({campaign_.waiting().begin(), campaign_.waiting().end()});
}

std::string CampaignProgress::TimeLeft(double now) const {
  return estimate_ && !estimate_->nodes().empty()
             ? TimeLeftText(*estimate_, std::max(now - estimated_at_, 0.0))
             : "";
}

bool CampaignProgress::ended() const {
  const bool judged = campaign_.state() == v1::CAMPAIGN_STATE_COMPLETED &&
                      campaign_.verdict() != v1::VERDICT_UNSPECIFIED;
  return judged || campaign_.state() == v1::CAMPAIGN_STATE_CANCELLED;
}

bool CampaignProgress::awaits_verdict() const {
  return campaign_.state() == v1::CAMPAIGN_STATE_COMPLETED && !ended();
}

std::vector<std::string> CampaignProgress::Render(const Style& style, double now) const {
  constexpr int kBarWidth = 24;
  const int width = style.width > 0 ? style.width : 80;
  std::vector<std::string> lines;
  const std::string counts = " " + std::to_string(campaign_.cases_done()) + "/" +
                             Counted(campaign_.case_count(), "case") + "  " +
                             ElapsedWhole(BeginOf(campaign_), now) + "  ";
  const int bar_width = std::max(4, std::min(kBarWidth, width - DisplayWidth(counts) - 30));
  lines.push_back(Truncate(Bar(campaign_.cases_done(), campaign_.case_count(), bar_width) + counts +
                               DescribeJobs(campaign_.jobs()),
                           width));
  if (const std::string left = TimeLeft(now); !left.empty()) {
    lines.push_back(Truncate("  " + left, width));
  }
  for (const std::string& line : Waits()) lines.push_back(Truncate("  " + line, width));
  std::vector<const v1::Job*> running;
  for (const auto& [id, job] : jobs_) {
    if (job.state() == v1::JOB_STATE_RUNNING) running.push_back(&job);
  }
  std::sort(running.begin(), running.end(), [](const v1::Job* a, const v1::Job* b) {
    return std::pair(PlacementOf(*a), a->job_id()) < std::pair(PlacementOf(*b), b->job_id());
  });
  Table table(
      {{"", Align::kLeft}, {"", Align::kLeft}, {"", Align::kRight}, {"", Align::kRight, 1}});
  for (size_t i = 0; i < std::min(running.size(), kMostJobs); ++i) {
    const v1::Job& job = *running[i];
    const std::string since =
        job.has_start_time() ? ElapsedWhole(Seconds(job.start_time()), now) : "";
    table.Add({"  " + PlacementOf(job), job.benchmark(), Cases(job), since});
  }
  for (std::string& line : table.RenderRows({width, false})) lines.push_back(std::move(line));
  if (running.size() > kMostJobs) {
    lines.push_back("  and " + std::to_string(running.size() - kMostJobs) + " more running");
  }
  return lines;
}

std::string CampaignProgress::Line(double now) const {
  const std::string left = TimeLeft(now);
  return std::to_string(campaign_.cases_done()) + "/" + Counted(campaign_.case_count(), "case") +
         " after " + ElapsedWhole(BeginOf(campaign_), now) + ": " + DescribeJobs(campaign_.jobs()) +
         (left.empty() ? "" : "; " + left);
}

std::string CampaignProgress::Headline(const Style& style) const {
  const Cell outcome = CampaignOutcome(campaign_);
  std::string text = "Campaign " + Sanitize(campaign_.name()) + " (" +
                     Sanitize(campaign_.campaign_id()) +
                     "): " + Paint(outcome.text, outcome.tone, style.colour);
  if (campaign_.has_end_time()) {
    text += Took(BeginOf(campaign_), Seconds(campaign_.end_time()));
  }
  return text;
}

std::string CampaignProgress::Summary(const Style& style) const {
  constexpr int kRuleIndent = 10;
  constexpr int kWaitIndent = 9;
  std::string text = Headline(style);
  text += "\n  Jobs:  " + DescribeJobs(campaign_.jobs()) +
          "\n  Cases: " + std::to_string(campaign_.cases_done()) + " of " +
          std::to_string(campaign_.case_count()) + " done\n" +
          ScheduleOriginText(campaign_, style.width) + RerunText(campaign_, style.width) +
          CoverageText(campaign_, style.width) + LeftOutText(campaign_, style.width);
  for (const std::string& line : Waits()) {
    text += "  Waits: " + Wrap(line, style.width - kWaitIndent, kWaitIndent) + "\n";
  }
  if (campaign_.rules().empty()) return text;
  text += "  Acceptance:\n";
  for (const v1::RuleVerdict& rule : campaign_.rules()) {
    const bool passed = rule.verdict() == v1::VERDICT_PASSED;
    const bool failed = rule.verdict() == v1::VERDICT_FAILED;
    text += "    " +
            (passed   ? Paint("PASS", Tone::kGood, style.colour)
             : failed ? Paint("FAIL", Tone::kBad, style.colour)
                      : "open") +
            "  " + Wrap(Sanitize(rule.rule()), style.width - kRuleIndent, kRuleIndent) + "\n";
    if (!rule.explanation().empty()) {
      text += std::string(kRuleIndent, ' ') +
              Wrap(Sanitize(rule.explanation()), style.width - kRuleIndent, kRuleIndent) + "\n";
    }
  }
  return text;
}

}  // namespace assay::cli
