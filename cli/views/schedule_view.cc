#include "cli/views/schedule_view.h"

#include "campaign/cron.h"
#include "cli/views/campaign_text.h"
#include "cli/views/format.h"
#include "cli/views/output.h"
#include "common/text.h"
#include "wire/field.h"
#include "wire/timestamps.h"

namespace assay::cli {
namespace {

std::string TimeIn(const google::protobuf::Timestamp& time, const v1::Schedule& schedule) {
  return campaign::TextInZone(schema::FromTimestamp(time), schedule.time_zone());
}

Cell OutcomeCell(const v1::Schedule& schedule) {
  if (schedule.runs().empty()) return {"", Tone::kPlain};
  switch (schedule.runs(0).outcome()) {
    case v1::ScheduledRun::OUTCOME_CREATED:
      return {"created", Tone::kGood};
    case v1::ScheduledRun::OUTCOME_SKIPPED:
      return {"skipped", Tone::kDoubtful};
    default:
      return {"failed", Tone::kBad};
  }
}

// Returns the id of the newest campaign.
std::string CampaignOf(const v1::Schedule& schedule) {
  for (const v1::ScheduledRun& run : schedule.runs()) {
    if (!run.campaign_id().empty()) return run.campaign_id();
  }
  return "";
}

std::string LabelledLine(const std::string& label, const std::string& text, int width) {
  constexpr int kIndent = 12;
  const int room = width > 0 ? std::max(width - kIndent, 1) : 0;
  std::string line = "  " + label + ":";
  line.resize(kIndent, ' ');
  return line + Wrap(Sanitize(text), room, kIndent) + "\n";
}

std::string MissedText(const v1::Schedule& schedule) {
  return schedule.missed_runs() == v1::MISSED_RUNS_SKIP
             ? "a run that is late by five minutes or more is skipped"
             : "one run starts as soon as a coordinator is there, however many were missed";
}

std::string OverlapText(const v1::Schedule& schedule) {
  switch (schedule.overlap()) {
    case v1::OVERLAP_ALLOW:
      return "a run starts also while the campaign of an earlier run is active";
    case v1::OVERLAP_CANCEL:
      return "a run cancels the campaign of the earlier run if that is still active";
    default:
      return "a run is skipped while the campaign of an earlier run is active";
  }
}

}  // namespace

std::string SchedulesText(const std::vector<v1::Schedule>& schedules, const Style& style) {
  Table table({{"NAME"},
               {"CRON"},
               {"ZONE", Align::kLeft, 3},
               {"NEXT"},
               {"LAST"},
               {"AT", Align::kLeft, 1},
               {"CAMPAIGN", Align::kLeft, 2}});
  std::string reasons;
  for (const v1::Schedule& one : schedules) {
    const bool ran = !one.runs().empty();
    const std::string last = ran ? TimeIn(one.runs(0).time(), one) : "";
    table.Add({one.name(), one.cron(), one.time_zone(), TimeIn(one.next_time(), one),
               OutcomeCell(one), last, CampaignOf(one)});
    if (ran && !one.runs(0).message().empty()) {
      reasons += Wrap(Sanitize(one.name() + ", " + last + ": " + OutcomeCell(one).text + ": " +
                               one.runs(0).message()),
                      style.width, 4) +
                 "\n";
    }
  }
  return table.Render(style) + (reasons.empty() ? "" : "\n" + reasons);
}

std::string SchedulesCsv(const std::vector<v1::Schedule>& schedules) {
  std::string csv = CsvRecord({"schedule_id", "name", "cron", "time_zone", "missed_runs", "overlap",
                               "campaign_name", "created_by", "create_time", "next_time",
                               "last_time", "last_outcome", "last_message", "last_campaign_id"});
  for (const v1::Schedule& one : schedules) {
    const v1::ScheduledRun last = one.runs().empty() ? v1::ScheduledRun() : one.runs(0);
    csv += CsvRecord({one.schedule_id(), one.name(), one.cron(), one.time_zone(),
                      schema::EnumWord(*v1::MissedRuns_descriptor(), one.missed_runs()),
                      schema::EnumWord(*v1::Overlap_descriptor(), one.overlap()), one.spec().name(),
                      one.created_by(), FormatTimeExact(one.create_time()),
                      FormatTimeExact(one.next_time()), FormatTimeExact(last.time()),
                      OutcomeCell(one).text, last.message(), last.campaign_id()});
  }
  return csv;
}

std::string ScheduleText(const v1::CreateScheduleResponse& response, const Style& style) {
  const v1::Schedule& schedule = response.schedule();
  const std::string zone = schedule.time_zone().empty() ? "UTC" : schedule.time_zone();
  std::string text = LabelledLine("Cron", schedule.cron() + " in " + zone, style.width);
  std::string campaign = schedule.spec().name();
  if (response.has_campaign()) campaign += ": " + SizeText(response.campaign()) + " now";
  text += LabelledLine("Campaign", campaign, style.width);
  for (int i = 0; i < response.next_times_size(); ++i) {
    const std::string time = TimeIn(response.next_times(i), schedule);
    text += i == 0 ? LabelledLine("Next", time, style.width) : "            " + time + "\n";
  }
  return text + LabelledLine("Missed", MissedText(schedule), style.width) +
         LabelledLine("Overlap", OverlapText(schedule), style.width);
}

}  // namespace assay::cli
