#include "cli/views/campaign_text.h"

#include <algorithm>
#include <vector>

#include "cli/views/format.h"
#include "cli/views/table.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr size_t kMostNodes = 3;
constexpr size_t kMostLines = 4;
constexpr size_t kMostReasons = 12;

std::string NodeText(const v1::AbsentNode& node) {
  if (node.has_cordon()) {
    const std::string& reason = node.cordon().reason();
    return node.name() + " (cordoned" + (reason.empty() ? "" : ": " + reason) + ")";
  }
  if (!node.quarantine().empty()) return node.name() + " (quarantined: " + node.quarantine() + ")";
  return node.name() + (node.has_last_heartbeat_time()
                            ? " (disconnected since " + FormatTime(node.last_heartbeat_time()) + ")"
                            : " (removed from the fleet)");
}

std::string JobsWait(int jobs) { return Counted(jobs, "job waits", "jobs wait"); }

struct Reason {
  std::string text;
  std::string benchmarks;  // "all_reduce (line 9, 8 cases), ..."
};

std::vector<Reason> ByReason(const v1::Campaign& campaign) {
  std::vector<Reason> reasons;
  for (const v1::LeftOut& one : campaign.left_out()) {
    auto reason = std::find_if(reasons.begin(), reasons.end(),
                               [&](const Reason& known) { return known.text == one.reason(); });
    if (reason == reasons.end()) reason = reasons.insert(reasons.end(), {one.reason(), ""});
    if (!reason->benchmarks.empty()) reason->benchmarks += ", ";
    reason->benchmarks += one.benchmark() + " (";
    if (one.line() > 0) reason->benchmarks += "line " + std::to_string(one.line()) + ", ";
    reason->benchmarks += Counted(one.case_count(), "case") + ")";
  }
  return reasons;
}

std::string Line(int indent, const std::string& text, int width) {
  const int room = width > 0 ? std::max(width - indent, 1) : 0;
  return std::string(static_cast<size_t>(indent), ' ') + Wrap(Sanitize(text), room, indent) + "\n";
}

}  // namespace

std::string WaitingText(const v1::WaitingJobs& waiting) {
  std::string text = JobsWait(waiting.jobs()) + " for ";
  if (waiting.needed() < waiting.nodes_size()) {
    text += std::to_string(waiting.needed()) + " of the ";
  }
  std::vector<std::string> names;
  for (const v1::AbsentNode& node : waiting.nodes()) names.push_back(NodeText(node));
  return Sanitize(text + Plural(waiting.nodes_size(), "node") + " " + JoinSome(names, kMostNodes));
}

std::string PausedText(const v1::Campaign& campaign) {
  if (!campaign.has_pause_time()) return "";
  std::string text =
      JobsWait(campaign.jobs().queued()) + ": paused since " + FormatTime(campaign.pause_time());
  if (!campaign.paused_by().empty()) text += " by " + campaign.paused_by();
  return Sanitize(text + "; to go on: assay campaign resume " + campaign.campaign_id());
}

std::vector<std::string> WaitingLines(const std::vector<v1::WaitingJobs>& waiting) {
  std::vector<std::string> lines;
  int more = 0;
  for (const v1::WaitingJobs& one : waiting) {
    if (lines.size() < kMostLines) {
      lines.push_back(WaitingText(one));
    } else {
      more += one.jobs();
    }
  }
  if (more > 0) lines.push_back(JobsWait(more) + " for others");
  return lines;
}

std::string SizeText(const v1::Campaign& campaign) {
  const v1::JobCounts& jobs = campaign.jobs();
  const int total = jobs.queued() + jobs.running() + jobs.succeeded() + jobs.failed() +
                    jobs.cancelled() + jobs.skipped();
  return Counted(total, "job") + " with " + Counted(campaign.case_count(), "case");
}

int64_t LeftOutCases(const v1::Campaign& campaign) {
  int64_t cases = 0;
  for (const v1::LeftOut& one : campaign.left_out()) cases += one.case_count();
  return cases;
}

std::string CoverageText(const v1::Campaign& campaign, int width) {
  constexpr int kIndent = 9;
  if (!campaign.has_coverage()) return "";
  const v1::Coverage& coverage = campaign.coverage();
  const int all = coverage.node_count();
  const int absent = coverage.absent_node_count();
  const bool waits = campaign.spec().absent() == v1::ABSENT_POLICY_WAIT;
  std::string text = absent == 0 || waits
                         ? Counted(all, "matching node")
                         : std::to_string(all - absent) + " of " + Counted(all, "matching node");
  if (absent > 0) {
    const auto named = static_cast<size_t>(coverage.absent_nodes_size());
    text += (waits ? "; absent, with jobs that wait for them: " : "; absent: ") +
            JoinSome({coverage.absent_nodes().begin(), coverage.absent_nodes().end()}, named,
                     static_cast<size_t>(absent) - std::min<size_t>(named, absent));
  }
  const int room = width > 0 ? std::max(width - kIndent, 1) : 0;
  return "  Nodes: " + Wrap(Sanitize(text), room, kIndent) + "\n";
}

std::string RerunText(const v1::Campaign& campaign, int width) {
  if (campaign.reruns().empty()) return "";
  const v1::Rerun& last = *campaign.reruns().rbegin();
  std::string text = "Rerun: ";
  if (campaign.reruns_size() > 1)
    text += std::to_string(campaign.reruns_size()) + " times; the last: ";
  text += last.failed_only()
              ? Counted(last.job_count(), "job") + " that had failed or were cancelled"
              : "all jobs, " + std::to_string(last.job_count()) +
                    " of them; the verdict is of these alone";
  return Line(2, text, width);
}

std::string ScheduleOriginText(const v1::Campaign& campaign, int width) {
  return campaign.schedule().empty() ? ""
                                     : Line(2, "From:  schedule " + campaign.schedule(), width);
}

std::string LeftOutText(const v1::Campaign& campaign, int width) {
  if (campaign.left_out().empty()) return "";
  std::string text = Line(
      2, "Left out: " + Counted(LeftOutCases(campaign), "case") + " that no matching node can take",
      width);
  const std::vector<Reason> reasons = ByReason(campaign);
  for (size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) {
    text += Line(4, reasons[i].text, width) + Line(6, reasons[i].benchmarks, width);
  }
  if (reasons.size() > kMostReasons) {
    text += Line(
        4, "and for " + Counted(static_cast<int64_t>(reasons.size() - kMostReasons), "more reason"),
        width);
  }
  return text;
}

}  // namespace assay::cli
