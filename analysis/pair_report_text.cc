#include "analysis/pair_report_text.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/statistics.h"
#include "common/numbers.h"
#include "common/text.h"

namespace assay::analysis {
namespace {

std::string PairName(const PairReport& report, size_t from, size_t to, const char* between) {
  return report.nodes[from] + between + report.nodes[to];
}

// Returns a deficit in percent, or in the unit of an additive model: "43%", "1 segment".
std::string Amount(const PairCase& one, double deficit, int decimals = 0) {
  if (!one.analysis.additive) return FormatFixed(100 * deficit, decimals) + "%";
  const std::string number = FormatNumber(deficit, one.unit, 3);
  const bool singular = IsCount(one.unit) && number == "1";
  return number + " " + one.unit.substr(0, one.unit.size() - (singular ? 1 : 0));
}

// Returns how a node differs from the others in one case.
std::string NodeText(const PairCase& one, const BadNode& bad) {
  static const std::map<NodeSide, std::string> sides = {
      {NodeSide::kBoth, ""},
      {NodeSide::kSending, " when it sends,"},
      {NodeSide::kReceiving, " when it receives,"}};
  return (bad.certain ? "" : "perhaps ") + Amount(one, bad.deficit) +
         (one.higher_is_better ? " below" : " above") + " the others" + sides.at(bad.side) +
         " on " + (bad.bad_links == bad.links ? "all" : std::to_string(bad.bad_links)) +
         " of its " + std::to_string(bad.links) + " links" +
         (bad.certain ? "" : "; its values are too uncertain, use more `repetitions`");
}

std::string LinkText(const PairReport& report, const PairCase& one, const BadLink& bad) {
  return (bad.certain ? "" : "perhaps ") + Amount(one, bad.deficit) +
         (one.higher_is_better ? " below" : " above") + " what both " + report.noun +
         "s reach elsewhere" +
         (bad.one_way ? ", only from " + PairName(report, bad.from, bad.to, " to ") : "") +
         (bad.certain ? "" : "; its value is too uncertain, use more `repetitions`");
}

std::string DescribeFailure(const PairFailure& failure) {
  return failure.benchmark + " failed in " + Counted(static_cast<int64_t>(failure.jobs), "job") +
         ": " + failure.reason;
}

// Returns whether repetitions cannot reduce the noise further, because the links themselves differ.
// This is the case if every value was measured repeatedly, and its error is much smaller than the
// differences between the values.
bool RepetitionsAreEnough(const PairCase& one) {
  constexpr double kMuchBetter = 3;
  std::vector<double> errors;
  for (const PairCell& cell : one.cells) {
    if (cell.repetitions < 2 || !cell.value.error) return false;
    errors.push_back(*cell.value.error / (one.analysis.additive ? 1 : cell.value.value));
  }
  return !errors.empty() && kMuchBetter * MedianOf(errors) < one.analysis.noise;
}

}  // namespace

std::string SubjectOf(const PairReport& report, const std::vector<size_t>& nodes) {
  if (nodes.size() == 1) return report.noun + " " + report.nodes[nodes[0]];
  return "link " + PairName(report, nodes[0], nodes[1], "-");
}

std::string CaseName(const PairCase& one) {
  return one.benchmark + (one.parameters.empty() ? "" : " " + one.parameters);
}

const PairFailure* FailureOf(const PairReport& report, const PairCase& one, size_t a, size_t b) {
  const auto found =
      std::find_if(report.failures.begin(), report.failures.end(), [&](const auto& failure) {
        return failure.benchmark == one.benchmark && failure.a == std::min(a, b) &&
               failure.b == std::max(a, b);
      });
  return found == report.failures.end() ? nullptr : &*found;
}

std::vector<PairFinding> FindingsOf(const PairReport& report, const PairCase& one) {
  std::vector<PairFinding> findings;
  for (const BadNode& bad : one.analysis.nodes) {
    findings.push_back({{bad.node}, bad.certain, NodeText(one, bad)});
  }
  for (const BadLink& bad : one.analysis.links) {
    findings.push_back({{bad.from, bad.to}, bad.certain, LinkText(report, one, bad)});
  }
  return findings;
}

std::vector<PairFinding> FailuresOf(const PairReport& report) {
  std::vector<PairFinding> findings;
  std::set<size_t> explained;
  for (const FailingNode& node : report.failing_nodes) {
    explained.insert(node.node);
    const auto example = std::find_if(
        report.failures.begin(), report.failures.end(),
        [&](const auto& failure) { return failure.a == node.node || failure.b == node.node; });
    findings.push_back({{node.node},
                        true,
                        (node.failed == node.pairs ? "all" : std::to_string(node.failed)) +
                            " of its " + std::to_string(node.pairs) + " pairs failed; on " +
                            PairName(report, example->a, example->b, "-") + ", " +
                            DescribeFailure(*example)});
  }
  for (const PairFailure& failure : report.failures) {
    if (explained.count(failure.a) + explained.count(failure.b) > 0) continue;
    findings.push_back({{failure.a, failure.b}, true, DescribeFailure(failure)});
  }
  return findings;
}

std::vector<std::string> GapsOf(const PairReport& report, const PairCase& one) {
  const PairAnalysis& found = one.analysis;
  std::vector<std::string> gaps;
  std::vector<std::string> missing;
  for (const auto& [a, b] : one.missing) {
    if (FailureOf(report, one, a, b) != nullptr) continue;
    missing.push_back(PairName(report, a, b, found.directed ? " to " : "-"));
  }
  if (!missing.empty()) gaps.push_back("Not measured: " + JoinSome(missing) + ".");
  constexpr size_t kMinNodes = 4;
  std::vector<std::string> unjudged;
  for (const size_t node : found.unjudged_nodes) unjudged.push_back(report.nodes[node]);
  if (one.nodes.size() < kMinNodes) {
    gaps.emplace_back("With fewer than four nodes, a bad node cannot be told from a bad link.");
  } else if (!unjudged.empty()) {
    gaps.push_back("Not judged, for fewer than three measured links: " + JoinSome(unjudged) + ".");
  } else if (found.NoiseHidesThreshold()) {
    gaps.push_back("The values scatter by " + Amount(one, found.noise, 1) +
                   ", so a node is named only from " + Amount(one, found.node_limit) +
                   " and a link from " + Amount(one, found.link_limit) +
                   (RepetitionsAreEnough(one)
                        ? ". Each value is known better than that: the links differ, and more "
                          "repetitions would not lower these limits."
                        : ". More `repetitions` in the campaign lower these limits."));
  }
  return gaps;
}

std::string AdviceOn(const PairReport& report, const Suspect& suspect) {
  const bool of_gpus = report.noun == "GPU";
  if (suspect.is_node()) {
    if (suspect.failed) {
      return of_gpus ? "the reason above, and whether the driver still reports it (nvidia-smi)"
                     : "whether its agent runs, and whether the other nodes can reach it";
    }
    return of_gpus ? "its NVLinks and PCIe slot, and what else runs on it"
                   : "its cable, switch port and network card, and what else runs on it";
  }
  const std::string between =
      of_gpus ? "what lies between these two GPUs only: their NVLinks, or the PCIe path"
              : "what lies between these two nodes only: a cable, or a path between their switches";
  if (!suspect.failed) return between;
  return "the reason above, then " + between.substr(0, between.find(':'));
}

}  // namespace assay::analysis
