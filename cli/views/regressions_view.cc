#include "cli/views/regressions_view.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "cli/views/case_text.h"
#include "cli/views/format.h"
#include "cli/views/output.h"
#include "common/text.h"
#include "wire/field.h"
#include "wire/result_fields.h"

namespace assay::cli {
namespace {

constexpr size_t kShortId = 8;

std::string ShortId(const std::string& id) { return Beginning(id, kShortId); }

std::string StateWord(v1::RegressionState state) {
  return schema::EnumWord(*v1::RegressionState_descriptor(), state);
}

Cell StateCell(v1::RegressionState state) {
  const Tone tone = state == v1::REGRESSION_STATE_CONFIRMED  ? Tone::kBad
                    : state == v1::REGRESSION_STATE_DETECTED ? Tone::kDoubtful
                                                             : Tone::kDim;
  return {StateWord(state), tone};
}

std::string ScopeText(v1::RegressionScope scope) {
  switch (scope) {
    case v1::REGRESSION_SCOPE_PLACE:
      return "only here";
    case v1::REGRESSION_SCOPE_FLEET:
      return "fleet";
    case v1::REGRESSION_SCOPE_NO_PEER:
      return "no peer";
    default:
      return "";
  }
}

std::string CauseText(const v1::Incident& incident) {
  switch (incident.cause()) {
    case v1::INCIDENT_CAUSE_DRIVER:
      return "driver " + ArrowText(incident.from(), incident.to());
    case v1::INCIDENT_CAUSE_AGENT:
      return "agent " + ArrowText(incident.from(), incident.to());
    case v1::INCIDENT_CAUSE_GPU:
      if (incident.has_place()) return PlaceText(incident.place());
      return "GPU " + Sanitize(incident.to().empty() ? incident.from() : incident.to());
    case v1::INCIDENT_CAUSE_NODE:
      return "node " + (incident.has_place()
                            ? PlaceNodes(incident.place())
                            : Sanitize(incident.to().empty() ? incident.from() : incident.to()));
    case v1::INCIDENT_CAUSE_CASE:
      return "one case, no known change";
    default:
      return "unknown";
  }
}

// Returns the start of an incident. A narrow terminal has room only for the day: "11-21".
std::string SinceText(const v1::Incident& incident, int width) {
  constexpr size_t kDay = 5;
  const std::string text = MinuteText(incident.start_time(), width);
  return text == MinuteText(incident.start_time()) ? text : text.substr(0, kDay);
}

// Returns "SM clock 1980 -> 1755 MHz" for a quantity that changed.
std::string ExplanationText(const v1::Explanation& explanation) {
  const schema::ResultField* field = schema::FindResultField(explanation.field());
  const std::string name(field != nullptr ? field->description : explanation.field());
  constexpr int kDigits = 4;
  if (explanation.has_before() || explanation.has_after()) {
    const auto number = [](bool known, double value) {
      return known ? FormatSignificant(value, kDigits) : "unknown";
    };
    std::string text = name + " " + number(explanation.has_before(), explanation.before()) +
                       " -> " + number(explanation.has_after(), explanation.after());
    if (field != nullptr && !field->unit.empty()) text.append(" ").append(field->unit);
    return Sanitize(text);
  }
  return Sanitize(name) + ": " + ArrowText(explanation.text_before(), explanation.text_after());
}

std::string ExplanationsText(const v1::Regression& regression) {
  std::vector<std::string> parts;
  for (const v1::Explanation& one : regression.explanations()) {
    parts.push_back(ExplanationText(one));
  }
  if (regression.agent_version_before() != regression.agent_version_after()) {
    parts.push_back("agent " +
                    ArrowText(regression.agent_version_before(), regression.agent_version_after()));
  }
  const v1::HistoryStep& step = regression.step();
  if (step.driver_before() != step.driver_after()) {
    parts.push_back("driver " + ArrowText(step.driver_before(), step.driver_after()));
  }
  return Join(parts, "; ");
}

// Returns "571.2, 570.8 TFLOP/s; peer GPU 2 of sim-0007: 711.9 TFLOP/s".
std::string RerunsText(const v1::Regression& regression) {
  const std::string& unit = regression.case_().unit();
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const v1::ConfirmationRun& run : regression.reruns()) {
    const std::string where = run.peer() ? "peer " + PlaceText(run.place()) + ": " : "";
    auto known = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& group) { return group.first == where; });
    if (known == groups.end()) known = groups.insert(groups.end(), {where, {}});
    known->second.push_back(FormatQuantity(run.median(), unit).ToString());
  }
  std::vector<std::string> parts;
  for (const auto& [where, values] : groups) parts.push_back(where + Join(values));
  return Sanitize(Join(parts, "; "));
}

std::string AcknowledgedText(const v1::Regression& regression) {
  if (regression.acknowledged_by().empty() && regression.acknowledge_note().empty() &&
      !regression.false_alarm()) {
    return "";
  }
  std::string text = regression.false_alarm() ? "false alarm" : "acknowledged";
  if (!regression.acknowledged_by().empty()) text += " by " + regression.acknowledged_by();
  if (!regression.acknowledge_note().empty()) text += ": " + regression.acknowledge_note();
  return Sanitize(text);
}

// Renders one regression as its headline and indented details.
std::string Paragraph(const v1::Regression& regression, const CaseNames& names,
                      const Style& style) {
  const v1::HistoryStep& step = regression.step();
  const std::string& unit = regression.case_().unit();
  const Cell state = StateCell(regression.state());
  const std::string headline = names.Short(regression.case_()) + " on " +
                               PlaceText(regression.place()) + ": " + ChangeText(step.ratio()) +
                               " (" + FormatQuantity(step.median_before(), unit).ToString() +
                               " -> " + FormatQuantity(step.median_after(), unit).ToString() + ")";
  std::string text = Wrap(Sanitize(headline), style.width, 4) + "\n";
  const auto add = [&](const std::string& label, const std::string& value) {
    constexpr int kIndent = 11;
    std::string name = "  " + label + ":";
    name.resize(kIndent, ' ');
    if (!value.empty()) text += Wrap(name + value, style.width, kIndent) + "\n";
  };
  std::string described = state.text;
  const std::string scope = ScopeText(regression.scope());
  if (!scope.empty()) described += ", " + scope;
  add("state", described + "; id " + ShortId(regression.regression_id()));
  const std::string good = MinuteText(regression.last_good_time());
  add("since", MinuteText(step.time()) + (good.empty() ? "" : "; last good run " + good));
  add("changed", ExplanationsText(regression));
  add("reruns", RerunsText(regression));
  add("note", AcknowledgedText(regression));
  return text;
}

}  // namespace

bool HasConfirmed(const v1::ListRegressionsResponse& found) {
  const auto confirmed = [](const auto& one) {
    return one.state() == v1::REGRESSION_STATE_CONFIRMED;
  };
  return std::any_of(found.incidents().begin(), found.incidents().end(), confirmed) ||
         std::any_of(found.regressions().begin(), found.regressions().end(), confirmed);
}

std::string IncidentsTable(const v1::ListRegressionsResponse& found, const Style& style) {
  if (found.incidents().empty()) return "";
  Table table({{"ID"},
               {"SINCE", Align::kLeft, 1},
               {"CAUSE"},
               {"CASES", Align::kRight, 2},
               {"GPUS", Align::kRight, 2},
               {"WORST", Align::kRight},
               {"STATE"},
               {"SCOPE", Align::kLeft, 3}});
  for (const v1::Incident& one : found.incidents()) {
    table.Add({ShortId(one.incident_id()), SinceText(one, style.width), CauseText(one),
               std::to_string(one.case_count()), std::to_string(one.place_count()),
               Cell(one.worst_ratio() > 0 ? ChangeText(one.worst_ratio()) : "", Tone::kBad),
               StateCell(one.state()), ScopeText(one.scope())});
  }
  return table.Render(style);
}

std::string RegressionsText(const v1::ListRegressionsResponse& found, int limit,
                            const Style& style) {
  std::vector<v1::CaseIdentity> cases;
  for (const v1::Regression& one : found.regressions()) cases.push_back(one.case_());
  const CaseNames names(cases);
  std::string text;
  const int shown =
      limit == 0 ? found.regressions_size() : std::min(limit, found.regressions_size());
  for (int i = 0; i < shown; ++i) text += Paragraph(found.regressions(i), names, style);
  if (shown < found.regressions_size()) {
    text +=
        Wrap(Counted(found.regressions_size() - shown, "more regression") + "; --limit 0 for all",
             style.width, 2) +
        "\n";
  }
  return text;
}

std::string RegressionsCsv(const v1::ListRegressionsResponse& found) {
  std::vector<std::string> columns = CaseColumns();
  const std::vector<std::string> place_columns = PlaceColumns();
  columns.insert(columns.end(), place_columns.begin(), place_columns.end());
  std::string csv = CsvRecordAfter(
      columns, {"regression_id", "incident_id", "incident_cause", "state", "scope", "time",
                "last_good_time", "ratio", "median_before", "median_after", "driver_before",
                "driver_after", "explanations", "reruns", "acknowledged_by", "acknowledge_note",
                "false_alarm", "result_id_before", "result_id"});
  std::map<std::string, std::string> causes;
  for (const v1::Incident& one : found.incidents()) {
    causes[one.incident_id()] = schema::EnumWord(*v1::IncidentCause_descriptor(), one.cause());
  }
  for (const v1::Regression& one : found.regressions()) {
    std::vector<std::string> cells = CaseValues(one.case_());
    const std::vector<std::string> place_cells = PlaceValues(one.place());
    cells.insert(cells.end(), place_cells.begin(), place_cells.end());
    const v1::HistoryStep& step = one.step();
    csv += CsvRecordAfter(
        cells,
        {one.regression_id(), one.incident_id(), causes[one.incident_id()], StateWord(one.state()),
         schema::EnumWord(*v1::RegressionScope_descriptor(), one.scope()),
         FormatTimeExact(step.time()), FormatTimeExact(one.last_good_time()),
         FormatExact(step.ratio()), FormatExact(step.median_before()),
         FormatExact(step.median_after()), step.driver_before(), step.driver_after(),
         ExplanationsText(one), std::to_string(one.reruns_size()), one.acknowledged_by(),
         one.acknowledge_note(), one.false_alarm() ? "true" : "false", one.result_id_before(),
         one.result_id()});
  }
  return csv;
}

}  // namespace assay::cli
