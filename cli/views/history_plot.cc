#include "cli/views/history_plot.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "cli/views/case_text.h"
#include "cli/views/format.h"
#include "cli/views/plot_marks.h"
#include "cli/views/table.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr int kTickEvery = 3;  // Rows per label of the y axis.
constexpr int kLeastColumns = 20;

// The values of the curve and its band at one moment.
struct Moment {
  double time = 0;
  double low = 0;
  double mid = 0;
  double high = 0;
};

// Returns the value at `share` of the sorted `values`, interpolated.
double Quantile(const std::vector<double>& values, double share) {
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

// Divides the time from `begin` to `end` into `bins` intervals. Returns one moment of the plot for
// each interval in which a run finished. Places without a run in that interval contribute the value
// of their latest run.
std::vector<Moment> MomentsOf(const CaseHistory& places, double begin, double end, int bins) {
  std::map<int, std::map<size_t, double>> values;  // By bin and place.
  for (size_t i = 0; i < places.size(); ++i) {
    for (const v1::HistoryPoint& point : places[i]->points()) {
      if (point.excluded() || !std::isfinite(point.median())) continue;
      const double share = (SecondsOf(point.end_time()) - begin) / (end - begin);
      values[std::clamp(static_cast<int>(share * bins), 0, bins - 1)][i] = point.median();
    }
  }
  std::map<size_t, double> latest;
  std::vector<Moment> moments;
  for (const auto& [bin, updates] : values) {
    for (const auto& [place, value] : updates) latest[place] = value;
    std::vector<double> sorted;
    for (const auto& [place, value] : latest) sorted.push_back(value);
    std::sort(sorted.begin(), sorted.end());
    constexpr double kLow = 0.1;
    moments.push_back(
        {bin + 0.5, Quantile(sorted, kLow), Quantile(sorted, 0.5), Quantile(sorted, 1 - kLow)});
  }
  return moments;
}

// Maps values to rows, from the top.
struct Scale {
  double low = 0;
  double high = 1;

  int Row(double value, int rows) const {
    const double share = (high - value) / (high - low);
    // Values near the limits of double have no finite range.
    if (!std::isfinite(share)) return 0;
    return static_cast<int>(std::clamp(share * rows, 0.0, rows - 1.0));
  }
};

Scale ScaleOf(const std::vector<Moment>& moments) {
  double low = moments[0].low;
  double high = moments[0].high;
  for (const Moment& moment : moments) {
    low = std::min({low, moment.low, moment.mid});
    high = std::max({high, moment.high, moment.mid});
  }
  // A range of at least 2% keeps noise from filling the plot.
  const double least = std::max(0.02 * std::fabs(high), 1e-300);
  const double padding = std::max(0.05 * (high - low), (least - (high - low)) / 2);
  return {low - padding, high + padding};
}

// Draws the curve through all moments, and the band around it. Times of moments are in dots.
void Draw(const std::vector<Moment>& moments, const Scale& scale, int rows, Canvas& canvas) {
  int last = scale.Row(moments[0].mid, canvas.dots_y());
  size_t next = 0;
  const int begin = static_cast<int>(moments.front().time);
  const int end = static_cast<int>(moments.back().time);
  const int per_column = canvas.dots_x() > 0 ? canvas.dots_y() / rows == 1 ? 1 : 2 : 1;
  for (int x = begin; x <= end; ++x) {
    while (next + 1 < moments.size() && moments[next].time < x + 0.5) ++next;
    const Moment& after = moments[next];
    const Moment& before = moments[next > 0 && after.time > x + 0.5 ? next - 1 : next];
    const double span = after.time - before.time;
    const double share = span > 0 ? (x + 0.5 - before.time) / span : 0;
    const auto between = [share](double a, double b) { return a + share * (b - a); };
    const int y = scale.Row(between(before.mid, after.mid), canvas.dots_y());
    for (int dot = std::min(y, last); dot <= std::max(y, last); ++dot) canvas.Dot(x, dot);
    last = y;
    if (before.low == before.high && after.low == after.high) continue;
    const int top = scale.Row(between(before.high, after.high), rows);
    const int bottom = scale.Row(between(before.low, after.low), rows);
    for (int row = top; row <= bottom; ++row) canvas.Shade(x / per_column, row);
  }
}

// Returns "11-21 08:30" within two days, and "2026-11-21" otherwise.
std::string DateText(double seconds, double span) {
  constexpr double kTwoDays = 2 * 86400;
  google::protobuf::Timestamp time;
  time.set_seconds(static_cast<int64_t>(seconds));
  const std::string text = FormatTime(time);
  if (text.empty()) return "";
  return span < kTwoDays ? text.substr(5, 11) : text.substr(0, 10);
}

// Returns the dates below the time axis: at its begin, middle and end.
std::string DateLine(double begin, double end, int columns) {
  const std::string first = DateText(begin, end - begin);
  const std::string last = DateText(end, end - begin);
  const std::string middle = DateText((begin + end) / 2, end - begin);
  const auto size = [](const std::string& text) { return static_cast<int>(text.size()); };
  std::string line = first;
  const int at = (columns - size(middle)) / 2;
  if (at > size(line) + 1 && at + size(middle) + 1 < columns - size(last) && middle != first) {
    line.resize(at, ' ');
    line += middle;
  }
  if (last != first && columns - size(last) > size(line)) {
    line.resize(columns - size(last), ' ');
    line += last;
  }
  return line;
}

// Puts each mark at its time, or at the next free column.
std::vector<std::pair<int, const PlotMark*>> PlaceMarks(const std::vector<PlotMark>& marks,
                                                        double begin, double end, int columns) {
  std::vector<std::pair<int, const PlotMark*>> placed;
  int free = 0;
  for (const PlotMark& mark : marks) {
    const double share = (mark.time - begin) / (end - begin);
    if (share < 0 || share > 1) continue;
    const int column = std::max(free, std::min(static_cast<int>(share * columns), columns - 1));
    if (column >= columns) break;
    placed.emplace_back(column, &mark);
    free = column + 1;
  }
  return placed;
}

// Returns the begin and the end of all runs that are not excluded, at least a minute apart.
std::pair<double, double> SpanOf(const CaseHistory& places) {
  double begin = HUGE_VAL;
  double end = -HUGE_VAL;
  for (const v1::PlaceHistory* history : places) {
    for (const v1::HistoryPoint& point : history->points()) {
      if (point.excluded() || !std::isfinite(point.median())) continue;
      begin = std::min(begin, SecondsOf(point.end_time()));
      end = std::max(end, SecondsOf(point.end_time()));
    }
  }
  return {begin, std::max(end, begin + 60)};
}

// Returns the labels of the y axis, right-aligned: one every kTickEvery rows, the others empty.
std::vector<std::string> RowLabels(const Scale& scale, int rows, const std::string& unit) {
  std::vector<std::string> labels(rows);
  constexpr int kMostLabel = 16;
  int width = 0;
  for (int row = 0; row < rows; row += kTickEvery) {
    const double value = scale.high - (row + 0.5) / rows * (scale.high - scale.low);
    labels[row] = Truncate(Sanitize(FormatQuantity(value, unit).ToString()), kMostLabel);
    width = std::max(width, DisplayWidth(labels[row]));
  }
  for (std::string& label : labels) label.insert(0, width - DisplayWidth(label), ' ');
  return labels;
}

}  // namespace

std::string HistoryPlot(const CaseHistory& places,
                        const std::vector<const v1::Annotation*>& annotations,
                        const PlotStyle& style) {
  const auto [begin, end] = SpanOf(places);
  if (!std::isfinite(begin)) return "";
  const auto moments_of = [&, b = begin, e = end](int bins) {
    return MomentsOf(places, b, e, bins);
  };
  // The number of bins is arbitrary here, because the labels depend only on the scale.
  constexpr int kBins = 100;
  const std::string& unit = places[0]->case_().unit();
  const Scale scale = ScaleOf(moments_of(kBins));
  const std::vector<std::string> labels = RowLabels(scale, style.rows, unit);
  const int margin = DisplayWidth(labels[0]) + 2;
  const int columns = std::max(style.width - margin, kLeastColumns);
  Canvas canvas(columns, style.rows, style.unicode);
  const std::vector<PlotMark> marks = FindPlotMarks(places, annotations, (end - begin) / columns);
  const auto placed = PlaceMarks(marks, begin, end, columns);
  for (const auto& [column, mark] : placed) {
    if (mark->is_step) canvas.Rule(column);
  }
  Draw(moments_of(canvas.dots_x()), scale, style.rows, canvas);
  std::string text;
  for (int row = 0; row < style.rows; ++row) {
    const bool tick = row % kTickEvery == 0;
    text += labels[row] + " " + (style.unicode ? (tick ? "\u2524" : "\u2502") : (tick ? "+" : "|"));
    text += canvas.Line(row) + "\n";
  }
  std::vector<std::string> axis(columns, style.unicode ? "\u2500" : "-");
  for (const auto& [column, mark] : placed) axis[column] = mark->symbol;
  const std::string indent(margin - 1, ' ');
  text += indent + (style.unicode ? "\u2514" : "+") + Join(axis, "") + "\n";
  text += indent + " " + DateLine(begin, end, columns) + "\n";
  for (const auto& [column, mark] : placed) {
    google::protobuf::Timestamp time;
    time.set_seconds(static_cast<int64_t>(mark->time));
    const std::string line =
        std::string("  ") + mark->symbol + "  " + MinuteText(time) + "  " + mark->text;
    constexpr int kIndent = 23;
    text += Wrap(line, style.width, kIndent) + "\n";
  }
  return text;
}

}  // namespace assay::cli
