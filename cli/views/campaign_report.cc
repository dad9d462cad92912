#include "cli/views/campaign_report.h"

#include <algorithm>
#include <string_view>

#include "cli/report/html.h"
#include "cli/views/format.h"
#include "cli/views/progress.h"
#include "cli/views/result_text.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr size_t kMostJobs = 20;

// Escapes text for a cell of a Markdown table, so that it is shown as it is.
std::string Markdown(std::string_view text) {
  static constexpr std::string_view kSpecial = "\\`*_{}[]<>()#+!|~@&";
  std::string escaped;
  for (const char c : Sanitize(text)) {
    if (kSpecial.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::vector<const v1::Job*> FailedJobs(const std::vector<v1::Job>& jobs) {
  std::vector<const v1::Job*> failed;
  for (const v1::Job& job : jobs) {
    if (job.state() == v1::JOB_STATE_FAILED) failed.push_back(&job);
  }
  return failed;
}

// Returns the time from creation to end in seconds; empty if the campaign has not ended.
std::string DurationText(const v1::Campaign& campaign) {
  if (!campaign.has_create_time() || !campaign.has_end_time()) return "";
  const int64_t seconds = campaign.end_time().seconds() - campaign.create_time().seconds();
  return std::to_string(std::max<int64_t>(seconds, 0));
}

std::string JunitRule(const v1::RuleVerdict& rule) {
  const std::string open =
      "    <testcase classname=\"accept\" name=\"" + EscapeHtml(rule.rule()) + "\"";
  const std::string explanation = EscapeHtml(rule.explanation());
  if (rule.verdict() == v1::VERDICT_FAILED) {
    return open + ">\n      <failure message=\"" + explanation + "\">" + explanation +
           "</failure>\n    </testcase>\n";
  }
  if (rule.verdict() == v1::VERDICT_PASSED) {
    return explanation.empty()
               ? open + "/>\n"
               : open + ">\n      <system-out>" + explanation + "</system-out>\n    </testcase>\n";
  }
  return open + ">\n      <skipped message=\"the campaign has not ended\"/>\n    </testcase>\n";
}

std::string JunitJob(const v1::Job& job) {
  const std::string failure = EscapeHtml(FailureText(job.failure()));
  return "    <testcase classname=\"job\" name=\"" + EscapeHtml(JobName(job)) +
         "\">\n      <error message=\"" + failure + "\">" + failure + "</error>\n    </testcase>\n";
}

std::string RuleWord(const v1::RuleVerdict& rule) {
  switch (rule.verdict()) {
    case v1::VERDICT_PASSED:
      return "pass";
    case v1::VERDICT_FAILED:
      return "**FAIL**";
    default:
      return "open";
  }
}

}  // namespace

std::string CampaignJunit(const v1::Campaign& campaign, const std::vector<v1::Job>& jobs) {
  const std::vector<const v1::Job*> failed = FailedJobs(jobs);
  const auto count = [&](v1::Verdict verdict) {
    return std::to_string(
        std::count_if(campaign.rules().begin(), campaign.rules().end(),
                      [&](const v1::RuleVerdict& rule) { return rule.verdict() == verdict; }));
  };
  const std::string numbers = " tests=\"" + std::to_string(campaign.rules_size() + failed.size()) +
                              "\" failures=\"" + count(v1::VERDICT_FAILED) + "\" errors=\"" +
                              std::to_string(failed.size()) + "\" skipped=\"" +
                              count(v1::VERDICT_UNSPECIFIED) + "\"";
  std::string suite = "  <testsuite name=\"" + EscapeHtml(campaign.name()) + "\"" + numbers;
  if (const std::string time = DurationText(campaign); !time.empty()) {
    suite += " time=\"" + time + "\" timestamp=\"" +
             EscapeHtml(FormatTimeExact(campaign.create_time())) + "\"";
  }
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n" + suite + ">\n";
  text += "    <properties>\n      <property name=\"campaign_id\" value=\"" +
          EscapeHtml(campaign.campaign_id()) + "\"/>\n    </properties>\n";
  for (const v1::RuleVerdict& rule : campaign.rules()) text += JunitRule(rule);
  for (const v1::Job* job : failed) text += JunitJob(*job);
  return text + "  </testsuite>\n</testsuites>\n";
}

std::string CampaignMarkdown(const v1::Campaign& campaign, const std::vector<v1::Job>& jobs) {
  std::string text =
      "**Campaign " + Markdown(campaign.name()) + ": " + CampaignOutcome(campaign).text + "**, " +
      std::to_string(campaign.cases_done()) + " of " + Counted(campaign.case_count(), "case") +
      " done, " + "jobs: " + DescribeJobs(campaign.jobs()) + "\n";
  if (!campaign.rules().empty()) {
    text += "\n| | Rule | Found |\n|---|---|---|\n";
    for (const v1::RuleVerdict& rule : campaign.rules()) {
      text += "| " + RuleWord(rule) + " | " + Markdown(rule.rule()) + " | " +
              Markdown(rule.explanation()) + " |\n";
    }
  }
  const std::vector<const v1::Job*> failed = FailedJobs(jobs);
  if (failed.empty()) return text;
  text += "\n| Failed job | Reason |\n|---|---|\n";
  for (size_t i = 0; i < std::min(failed.size(), kMostJobs); ++i) {
    text += "| " + Markdown(JobName(*failed[i])) + " | " +
            Markdown(FailureText(failed[i]->failure())) + " |\n";
  }
  if (failed.size() > kMostJobs) {
    text += "\nand " + Counted(static_cast<int64_t>(failed.size() - kMostJobs), "more failed job") +
            "\n";
  }
  return text;
}

}  // namespace assay::cli
