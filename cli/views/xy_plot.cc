#include "cli/views/xy_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "cli/views/format.h"
#include "cli/views/table.h"
#include "common/text.h"
#include "common/units.h"

namespace assay::cli {
namespace {

constexpr int kLeastColumns = 20;
constexpr int kTickEvery = 3;  // Rows per label of an axis without decades.
constexpr int kMostLabel = 16;

// An axis from `low` to `high`. Values of a logarithmic axis are log2.
struct Axis {
  bool logarithmic = false;
  double low = HUGE_VAL;
  double high = -HUGE_VAL;

  std::optional<double> Map(double value) const {
    if (!std::isfinite(value) || (logarithmic && value <= 0)) return std::nullopt;
    return logarithmic ? std::log2(value) : value;
  }
  double Unmap(double mapped) const { return logarithmic ? std::exp2(mapped) : mapped; }
  void Include(double mapped) {
    low = std::min(low, mapped);
    high = std::max(high, mapped);
  }
  // Returns the position of a mapped value as a share of the axis.
  double Share(double mapped) const { return (mapped - low) / (high - low); }
};

struct Axes {
  Axis x{true};
  Axis y;

  void Include(double x_value, double y_value) {
    const auto at_x = x.Map(x_value);
    const auto at_y = y.Map(y_value);
    if (!at_x || !at_y) return;
    x.Include(*at_x);
    y.Include(*at_y);
  }
  bool empty() const { return x.low > x.high; }
  // Leaves room around the values.
  void Pad() {
    constexpr double kMargin = 0.03;
    const double wide = std::max(x.high - x.low, 1.0) * kMargin;
    x.low -= wide;
    x.high += wide;
    if (!y.logarithmic) y.low = std::min(0.0, y.low);
    if (y.high <= y.low) y.high = y.low + 1;
    const double high = (y.high - y.low) * kMargin;
    if (y.logarithmic) y.low -= high;
    y.high += high;
  }
};

int DotX(const Axes& axes, double mapped, const Canvas& canvas) {
  return static_cast<int>(std::lround(axes.x.Share(mapped) * (canvas.dots_x() - 1)));
}
int DotY(const Axes& axes, double mapped, const Canvas& canvas) {
  return static_cast<int>(std::lround((1 - axes.y.Share(mapped)) * (canvas.dots_y() - 1)));
}

void DrawLine(const PlotLine& line, const Axes& axes, Canvas& canvas) {
  int drawn = 0;
  for (size_t i = 0; i + 1 < line.points.size(); ++i) {
    const auto x0 = axes.x.Map(line.points[i].first);
    const auto y0 = axes.y.Map(line.points[i].second);
    const auto x1 = axes.x.Map(line.points[i + 1].first);
    const auto y1 = axes.y.Map(line.points[i + 1].second);
    if (!x0 || !y0 || !x1 || !y1) continue;
    const double begin_x = DotX(axes, *x0, canvas);
    const double end_x = DotX(axes, *x1, canvas);
    const double begin_y = DotY(axes, *y0, canvas);
    const double end_y = DotY(axes, *y1, canvas);
    const double longest = std::max(std::fabs(end_x - begin_x), std::fabs(end_y - begin_y));
    const int steps = std::max(1, static_cast<int>(std::ceil(longest)));
    for (int step = 0; step <= steps; ++step) {
      if (drawn++ % line.step != 0) continue;
      const double share = static_cast<double>(step) / steps;
      canvas.Dot(static_cast<int>(std::lround(begin_x + share * (end_x - begin_x))),
                 static_cast<int>(std::lround(begin_y + share * (end_y - begin_y))));
    }
  }
}

// Returns the row of a share of the y axis.
int RowOf(double share, int rows) {
  return static_cast<int>(std::lround((1 - share) * (rows - 1)));
}

// Returns 1, 2 or 5 times a power of ten, so that labels are about kTickEvery rows apart.
double TickStep(const Axis& axis, int rows) {
  const double rough =
      (axis.Unmap(axis.high) - axis.Unmap(axis.low)) * kTickEvery / std::max(rows, kTickEvery);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

// Returns the labels of the y axis by row, most of them empty.
std::vector<std::string> RowLabels(const Axis& axis, int rows, const std::string& unit) {
  std::vector<std::string> labels(static_cast<size_t>(rows));
  const auto label = [&](int row, double value) {
    if (row < 0 || row >= rows) return;
    labels[static_cast<size_t>(row)] = Truncate(Sanitize(ShortQuantity(value, unit)), kMostLabel);
  };
  const double decades = axis.logarithmic ? (axis.high - axis.low) * std::log10(2.0) : 0;
  if (decades >= 1.5) {
    const int first = static_cast<int>(std::ceil(axis.low * std::log10(2.0)));
    const int last = static_cast<int>(std::floor(axis.high * std::log10(2.0)));
    for (int power = first; power <= last; ++power) {
      const double value = std::pow(10.0, power);
      const double share = axis.Share(*axis.Map(value));
      label(RowOf(share, rows), value);
    }
  } else {
    const double step = TickStep(axis, rows);
    const double low = axis.Unmap(axis.low);
    const double high = axis.Unmap(axis.high);
    for (double tick = std::ceil(low / step); tick <= high / step; ++tick) {
      const auto mapped = axis.Map(tick * step);
      if (mapped) label(RowOf(axis.Share(*mapped), rows), tick * step);
    }
  }
  int width = 0;
  for (const std::string& text : labels) width = std::max(width, DisplayWidth(text));
  for (std::string& text : labels) {
    text.insert(0, static_cast<size_t>(width - DisplayWidth(text)), ' ');
  }
  return labels;
}

// Returns the labels below the x axis, those of powers of two or ten that have room.
std::string ColumnLabels(const Axis& axis, int columns, const std::string& unit) {
  const bool binary = unit == "B";
  const double power_size = binary ? 1 : std::log2(10.0);
  std::string line;
  // Use fewer ticks if the labels of all ticks would touch each other.
  constexpr double kLeastWidth = 9;
  const double width_of_power = power_size / (axis.high - axis.low) * columns;
  const int every = std::max(1, static_cast<int>(std::ceil(kLeastWidth / width_of_power)));
  const int first = static_cast<int>(std::ceil(axis.low / power_size));
  const int last = static_cast<int>(std::floor(axis.high / power_size));
  for (int power = first; power <= last; ++power) {
    if (power % every != 0) continue;
    const double value = std::exp2(power * power_size);
    const std::string text = binary && power >= 0 && power < 62 ? FormatBytes(int64_t{1} << power)
                                                                : ShortQuantity(value, "");
    const int at = static_cast<int>(std::lround(axis.Share(power * power_size) * (columns - 1)));
    const int begin = std::max(0, at - static_cast<int>(text.size()) / 2);
    if (begin + static_cast<int>(text.size()) > columns) break;
    if (!line.empty() && begin <= static_cast<int>(line.size())) continue;
    line.resize(static_cast<size_t>(begin), ' ');
    line += text;
  }
  if (binary || unit.empty()) return line;
  // Put the unit at the end if it fits.
  const int begin = columns - static_cast<int>(unit.size());
  if (begin > static_cast<int>(line.size())) {
    line.resize(static_cast<size_t>(begin), ' ');
    line += unit;
  }
  return line;
}

}  // namespace

std::string ShortQuantity(double value, const std::string& unit) {
  constexpr int kDigits = 3;
  constexpr size_t kMostCharacters = 9;
  const Quantity quantity = FormatQuantity(value, unit);
  std::string number = FormatSignificant(std::strtod(quantity.number.c_str(), nullptr), kDigits);
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.ends_with('.')) number.pop_back();
  }
  if (number.size() > kMostCharacters) return Quantity{FormatExact(value), unit}.ToString();
  return Quantity{number, quantity.unit}.ToString();
}

std::string DrawXyPlot(const XyPlot& plot, const PlotStyle& style) {
  Axes axes;
  axes.y.logarithmic = plot.log_y;
  for (const PlotLine& line : plot.lines) {
    for (const auto& [x, y] : line.points) axes.Include(x, y);
  }
  for (const PlotPoint& point : plot.points) axes.Include(point.x, point.y);
  if (axes.empty()) return "";
  axes.Pad();
  const std::vector<std::string> labels = RowLabels(axes.y, style.rows, plot.y_unit);
  const int margin = DisplayWidth(labels[0]) + 2;
  const int columns = std::max(style.width - margin, kLeastColumns);
  Canvas canvas(columns, style.rows, style.unicode);
  for (const PlotLine& line : plot.lines) DrawLine(line, axes, canvas);
  for (const PlotPoint& point : plot.points) {
    const auto x = axes.x.Map(point.x);
    const auto y = axes.y.Map(point.y);
    if (!x || !y) continue;
    canvas.Mark(DotX(axes, *x, canvas) * columns / canvas.dots_x(),
                DotY(axes, *y, canvas) * style.rows / canvas.dots_y(), point.symbol);
  }
  std::string text;
  for (int row = 0; row < style.rows; ++row) {
    const std::string& label = labels[static_cast<size_t>(row)];
    const bool tick = label.find_first_not_of(' ') != std::string::npos;
    const char* const axis = style.unicode ? (tick ? "\u2524" : "\u2502") : (tick ? "+" : "|");
    text += label + " " + axis + canvas.Line(row) + "\n";
  }
  const std::string indent(static_cast<size_t>(margin - 1), ' ');
  std::string rule;
  for (int column = 0; column < columns; ++column) rule += style.unicode ? "\u2500" : "-";
  text += indent + (style.unicode ? "\u2514" : "+") + rule + "\n";
  return text + indent + " " + ColumnLabels(axes.x, columns, plot.x_unit) + "\n";
}

}  // namespace assay::cli
