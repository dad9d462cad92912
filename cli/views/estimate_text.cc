#include "cli/views/estimate_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/text.h"
#include "wire/durations.h"

namespace assay::cli {
namespace {

constexpr int kMostListedNodes = 20;

double EstimatedSeconds(const google::protobuf::Duration& duration) {
  return std::chrono::duration<double>(FromProto(duration)).count();
}

// Returns "40 s", "12 min" or "3 h 20 min".
std::string RoughTime(double seconds) {
  const long long tens = std::max(1LL, std::llround(seconds / 10));
  if (tens < 9) return fmt::format("{} s", tens * 10);
  const long long minutes = std::llround(seconds / 60);
  if (minutes < 120) return fmt::format("{} min", minutes);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

// Returns what the estimate rests on.
std::string BasisText(const v1::Estimate& estimate) {
  const int known = estimate.cases_from_history();
  const int others = estimate.cases_from_method();
  if (known == 0) return "from the method's limits";
  std::string text = "from earlier runs of " + Counted(known, "case");
  if (others > 0) text += " and limits for " + std::to_string(others);
  return text;
}

std::string Dollars(double dollars) { return fmt::format("{:.2f}", dollars); }

// Names the nodes without a price.
std::string PriceText(const v1::Estimate& estimate) {
  if (estimate.has_dollars()) return "$" + Dollars(estimate.dollars());
  std::vector<std::string> unknown;
  for (const v1::NodeEstimate& node : estimate.nodes()) {
    if (!node.has_dollars()) unknown.push_back(node.node_name());
  }
  return "unknown; no price per hour of " + Plural(static_cast<int64_t>(unknown.size()), "node") +
         " " + JoinSome(unknown, 3);
}

}  // namespace

std::string TimeLeftText(const v1::Estimate& estimate, double age_seconds) {
  const double left = EstimatedSeconds(estimate.duration()) - age_seconds;
  return "about " + RoughTime(std::max(left, 0.0)) + " left, " + BasisText(estimate);
}

std::string EstimateText(const v1::Estimate& estimate, const Style& style) {
  constexpr int kIndent = 9;
  if (estimate.nodes().empty()) return "";
  const int room = style.width > 0 ? std::max(style.width - kIndent, 1) : 0;
  std::string text =
      "  Time:  " +
      Wrap("about " + RoughTime(EstimatedSeconds(estimate.duration())) + ", " + BasisText(estimate), room,
           kIndent) +
      "\n  Price: " + Wrap(Sanitize(PriceText(estimate)), room, kIndent) + "\n";
  Table table({{"  NODE"},
               {"JOBS", Align::kRight},
               {"MINUTES", Align::kRight},
               {"DOLLARS", Align::kRight}});
  for (int i = 0; i < std::min(estimate.nodes_size(), kMostListedNodes); ++i) {
    const v1::NodeEstimate& node = estimate.nodes(i);
    table.Add({"  " + node.node_name(), std::to_string(node.job_count()),
               fmt::format("{:.1f}", EstimatedSeconds(node.duration()) / 60),
               node.has_dollars() ? Dollars(node.dollars()) : ""});
  }
  text += table.Render(style);
  if (const int more = estimate.nodes_size() - kMostListedNodes; more > 0) {
    text += "  and " + Counted(more, "more node") + "; all of them: -o json\n";
  }
  return text;
}

}  // namespace assay::cli
