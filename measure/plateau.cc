#include "measure/plateau.h"

#include <algorithm>
#include <cmath>

#include "measure/statistics.h"

namespace assay {
namespace {

// The points [first, last) of a sweep over working set sizes.
struct Run {
  size_t first = 0;
  size_t last = 0;
  size_t length() const { return last - first; }
};

// Returns the longest run of points in [within.first, within.last) whose latencies differ by at
// most the fraction `tolerance`, or the first of several equally long runs.
Run LongestRun(const std::vector<LatencyPoint>& points, double tolerance, const Run& within) {
  Run longest;
  for (size_t first = within.first; first < within.last; ++first) {
    double low = points[first].latency;
    double high = low;
    size_t last = first;
    for (; last < within.last; ++last) {
      low = std::min(low, points[last].latency);
      high = std::max(high, points[last].latency);
      if (high > low * (1 + tolerance)) break;
    }
    if (last - first > longest.length()) longest = {first, last};
  }
  return longest;
}

// Appends the longest run in `within` to the output, and the runs before and after it, in order.
void Split(const std::vector<LatencyPoint>& points, double tolerance, size_t min_points,
           const Run& within, std::vector<Run>* runs) {
  if (within.length() < min_points) return;
  const Run longest = LongestRun(points, tolerance, within);
  if (longest.length() < min_points) return;
  Split(points, tolerance, min_points, {within.first, longest.first}, runs);
  runs->push_back(longest);
  Split(points, tolerance, min_points, {longest.last, within.last}, runs);
}

double Octaves(const Plateau& plateau) {
  return std::log2(static_cast<double>(plateau.last_bytes) /
                   static_cast<double>(plateau.first_bytes));
}

std::string Describe(const std::vector<Plateau>& plateaus) {
  std::string text;
  for (const Plateau& plateau : plateaus) {
    text += (text.empty() ? "" : ", ") + std::to_string(plateau.first_bytes) + " B to " +
            std::to_string(plateau.last_bytes) + " B at " + std::to_string(plateau.latency);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::vector<Plateau> FindPlateaus(const std::vector<LatencyPoint>& points, double tolerance,
                                  int64_t min_points) {
  std::vector<Run> runs;
  Split(points, tolerance, static_cast<size_t>(std::max<int64_t>(min_points, 1)),
        {0, points.size()}, &runs);
  std::vector<Plateau> plateaus;
  for (const Run& run : runs) {
    std::vector<double> latencies;
    for (size_t i = run.first; i < run.last; ++i) latencies.push_back(points[i].latency);
    plateaus.push_back({points[run.first].bytes, points[run.last - 1].bytes,
                        Summarize(std::move(latencies)).median,
                        static_cast<int64_t>(run.length())});
  }
  return plateaus;
}

Result<Plateau> PlateauOf(const std::string& level, const std::vector<Plateau>& plateaus) {
  const size_t needed = level == "l2" ? 3 : 2;
  if (plateaus.size() < needed) {
    return Status(Code::kNotFound, Reason::kNoPlateau,
                  "a sweep of working sets found no plateau for " + level + "; it needs at least " +
                      std::to_string(needed) + " and found: " + Describe(plateaus));
  }
  if (level == "l1") return plateaus.front();
  if (level == "dram") return plateaus.back();
  return *std::max_element(
      plateaus.begin() + 1, plateaus.end() - 1,
      [](const Plateau& a, const Plateau& b) { return Octaves(a) < Octaves(b); });
}

}  // namespace assay
