#include "cli/views/history_view.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "cli/views/case_text.h"
#include "cli/views/format.h"
#include "cli/views/output.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr size_t kMostPlots = 4;

std::vector<v1::CaseIdentity> CasesOf(const v1::GetHistoryResponse& history) {
  std::vector<v1::CaseIdentity> cases;
  for (const v1::PlaceHistory& place : history.places()) cases.push_back(place.case_());
  return cases;
}

// Groups the places by their cases, in the order of their first places.
std::vector<CaseHistory> ByCase(const v1::GetHistoryResponse& history) {
  std::vector<CaseHistory> grouped;
  std::map<std::vector<std::string>, size_t> known;  // CSV cells that identify the case.
  for (const v1::PlaceHistory& place : history.places()) {
    const auto [found, added] = known.try_emplace(CaseValues(place.case_()), grouped.size());
    if (added) grouped.emplace_back();
    grouped[found->second].push_back(&place);
  }
  return grouped;
}

// Returns the annotations of the fleet and of the nodes of these places.
std::vector<const v1::Annotation*> AnnotationsOf(const v1::GetHistoryResponse& history,
                                                 const CaseHistory& places) {
  std::vector<const v1::Annotation*> annotations;
  for (const v1::Annotation& one : history.annotations()) {
    const bool concerns =
        one.node_name().empty() ||
        std::any_of(places.begin(), places.end(), [&](const v1::PlaceHistory* place) {
          const auto& nodes = place->place().node_names();
          return std::find(nodes.begin(), nodes.end(), one.node_name()) != nodes.end();
        });
    if (concerns) annotations.push_back(&one);
  }
  return annotations;
}

// Returns what the plot shows: "gemm m=n=k=4096 bf16: tflops on GPU 3 of sim-0007".
std::string PlotTitle(const CaseHistory& places, const CaseNames& names) {
  int runs = 0;
  int excluded = 0;
  for (const v1::PlaceHistory* place : places) {
    for (const v1::HistoryPoint& point : place->points()) ++(point.excluded() ? excluded : runs);
  }
  const auto count = static_cast<int64_t>(places.size());
  const std::string noun = PlaceNoun({places[0]->case_()});
  std::string title = names.Full(places[0]->case_());
  if (count == 1) {
    title += " on " + PlaceText(places[0]->place());
  } else {
    title += ", median of " + Counted(count, noun) + " (shaded: 10th to 90th percentile)";
  }
  title += ", " + Counted(runs, "run");
  if (excluded > 0) title += " (" + std::to_string(excluded) + " not verified, left out)";
  return title;
}

Table StepTable(const v1::GetHistoryResponse& history, const CaseNames& names, bool several,
                int width) {
  Table table({{"TIME"},
               {"CASE"},
               {"NODE"},
               {"GPU"},
               {"CHANGE", Align::kRight},
               {"BEFORE", Align::kRight, 2},
               {"AFTER", Align::kRight, 2},
               {"DRIVER", Align::kLeft, 1}});
  std::vector<std::pair<const v1::PlaceHistory*, const v1::HistoryStep*>> steps;
  for (const v1::PlaceHistory& place : history.places()) {
    for (const v1::HistoryStep& step : place.steps()) steps.emplace_back(&place, &step);
  }
  std::stable_sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->time().seconds(), a.second->time().nanos()) >
           std::pair(b.second->time().seconds(), b.second->time().nanos());
  });
  for (const auto& [place, step] : steps) {
    const std::string& unit = place->case_().unit();
    const bool changed = step->driver_before() != step->driver_after();
    table.Add({MinuteText(step->time(), width), several ? names.Short(place->case_()) : "",
               PlaceNodes(place->place()), PlaceGpus(place->place()),
               Cell(ChangeText(step->ratio()), step->ratio() < 1 ? Tone::kBad : Tone::kGood),
               FormatQuantity(step->median_before(), unit).ToString(),
               FormatQuantity(step->median_after(), unit).ToString(),
               changed ? ArrowText(step->driver_before(), step->driver_after())
                       : Sanitize(step->driver_after())});
  }
  return table;
}

}  // namespace

std::string HistoryText(const v1::GetHistoryResponse& history, const PlotStyle& plot,
                        const Style& style) {
  const CaseNames names(CasesOf(history));
  const std::vector<CaseHistory> cases = ByCase(history);
  std::string text;
  const auto add = [&](const std::string& sentence) {
    text += Wrap(sentence, style.width, 2) + "\n";
  };
  for (size_t i = 0; i < std::min(cases.size(), kMostPlots); ++i) {
    if (i > 0) text += "\n";
    add(PlotTitle(cases[i], names));
    text += HistoryPlot(cases[i], AnnotationsOf(history, cases[i]), plot);
  }
  if (cases.size() > kMostPlots) {
    text += "\n";
    add(Counted(static_cast<int64_t>(cases.size() - kMostPlots), "more case") +
        " not plotted; name one with parameters, such as gemm[m=4096]");
  }
  const Table steps = StepTable(history, names, cases.size() > 1, style.width);
  text += "\n";
  if (steps.empty()) {
    add("No steps: no lasting change was found.");
  } else {
    text += steps.Render(style);
  }
  if (history.remaining_count() > 0) {
    add(Counted(history.remaining_count(), "more place") +
        " without a plot; to include them, use --places");
  }
  if (history.failed_count() > 0) {
    add(Counted(history.failed_count(), "result") +
        " failed; to list them: assay results --failing");
  }
  return text;
}

std::string HistoryCsv(const v1::GetHistoryResponse& history) {
  std::vector<std::string> columns = CaseColumns();
  const std::vector<std::string> place_columns = PlaceColumns();
  columns.insert(columns.end(), place_columns.begin(), place_columns.end());
  std::string csv = CsvRecordAfter(columns, {"end_time", "median", "uncertainty", "driver_version",
                                             "excluded", "step", "result_id"});
  for (const v1::PlaceHistory& place : history.places()) {
    std::vector<std::string> cells = CaseValues(place.case_());
    const std::vector<std::string> place_cells = PlaceValues(place.place());
    cells.insert(cells.end(), place_cells.begin(), place_cells.end());
    std::map<int, double> steps;
    for (const v1::HistoryStep& step : place.steps()) steps[step.first_point()] = step.ratio();
    for (int i = 0; i < place.points_size(); ++i) {
      const v1::HistoryPoint& point = place.points(i);
      const auto step = steps.find(i);
      csv += CsvRecordAfter(
          cells, {FormatTimeExact(point.end_time()), FormatExact(point.median()),
                  point.has_uncertainty() ? FormatExact(point.uncertainty()) : "",
                  point.driver_version(), point.excluded() ? "true" : "false",
                  step == steps.end() ? "" : FormatExact(step->second), point.result_id()});
    }
  }
  return csv;
}

}  // namespace assay::cli
