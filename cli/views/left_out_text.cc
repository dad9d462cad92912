#include "cli/views/left_out_text.h"

#include <algorithm>
#include <vector>

#include "cli/views/utf8.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr size_t kMostReasons = 12;

std::string Cases(int64_t count) {
  return std::to_string(count) + (count == 1 ? " case" : " cases");
}

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
    reason->benchmarks += Cases(one.case_count()) + ")";
  }
  return reasons;
}

std::string Line(int indent, const std::string& text, int width) {
  // As wide as `width` with the indent; 0 does not wrap.
  const int room = width > 0 ? std::max(width - indent, 1) : 0;
  return std::string(static_cast<size_t>(indent), ' ') + Wrap(Sanitize(text), room, indent) + "\n";
}

}  // namespace

int64_t LeftOutCases(const v1::Campaign& campaign) {
  int64_t cases = 0;
  for (const v1::LeftOut& one : campaign.left_out()) cases += one.case_count();
  return cases;
}

std::string LeftOutText(const v1::Campaign& campaign, int width) {
  if (campaign.left_out().empty()) return "";
  std::string text = Line(
      2, "Left out: " + Cases(LeftOutCases(campaign)) + " that no matching node can take", width);
  const std::vector<Reason> reasons = ByReason(campaign);
  for (size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) {
    text += Line(4, reasons[i].text, width) + Line(6, reasons[i].benchmarks, width);
  }
  if (reasons.size() > kMostReasons) {
    text += Line(4, "and for " + std::to_string(reasons.size() - kMostReasons) + " more reasons",
                 width);
  }
  return text;
}

}  // namespace assay::cli
