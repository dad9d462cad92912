// What was measured between every two nodes, as a matrix, and which node or link is bad.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/result_service.pb.h"
#include "analysis/pair_model.h"
#include "cli/views/table.h"
#include "common/status.h"

namespace assay::cli {

// What was measured between two nodes, over all repetitions.
struct PairCell {
  PairValue value;  // The median of the repetitions' medians.
  int repetitions = 0;
  // 95% confidence interval; absent if nothing tells it.
  std::optional<std::pair<double, double>> interval;
  std::vector<std::string> flags;    // As DoubtsOf, of any repetition.
  std::vector<std::string> job_ids;  // Of the repetitions.
};

enum class PairFailureKind {
  kFailed,      // The pair has no value.
  kRepetition,  // Another repetition has one.
  kUnsupported  // The pair cannot run the case; no fault.
};

// A pair whose job or case failed.
struct PairFailure {
  size_t from = 0;
  size_t to = 0;
  // Of this direction only; else of both, `from` being the smaller number.
  bool one_way = false;
  PairFailureKind kind = PairFailureKind::kFailed;
  std::string reason;
};

// One case, measured on pairs of nodes.
struct PairCase {
  std::string benchmark;
  std::string parameters;  // In a few words; without what tells two directions apart.
  std::string metric;      // Empty if every pair failed.
  std::string unit;
  bool higher_is_better = true;
  std::vector<std::string> nodes;  // By name.
  std::vector<PairCell> cells;     // One a pair and direction, by node.
  std::vector<PairFailure> failures;
  // Pairs of which there is neither a value nor a failure; in one direction if both count.
  std::vector<std::pair<size_t, size_t>> missing;
  // Jobs of the benchmark that may still measure them.
  size_t waiting = 0;
  double threshold = 0;
  PairAnalysis analysis;  // Of `cells`.
  // The nodes that explain pairs without a value.
  std::vector<DeadNode> dead;
};

// How much of a case could be judged.
enum class PairJudgement {
  kWhole,    // Every pair of its nodes but those that failed or cannot run it.
  kPartial,  // Some pairs are missing, or are of nodes with too few links.
  kNone
};

// Whether the job is queued or running.
bool IsToBeDone(const v1::Job& job);

// The cases of results on two nodes, in the order of their names and sizes; jobs and cases that
// failed are failures of their pairs, and the nodes of jobs that are still to be done are nodes of
// theirs. `threshold` as PairRule's.
std::vector<PairCase> PairCases(const std::vector<v1::StoredResult>& results,
                                const std::vector<v1::Job>& jobs, double threshold);

// An error that says which metrics `results` (of all metrics) have, and which may have been
// meant, if none is `metric`.
Status CheckPairMetric(const std::vector<v1::StoredResult>& results, const std::string& campaign,
                       const std::string& metric);

// "a-b", or "a to b" of one direction.
std::string PairName(const PairCase& measured, size_t from, size_t to, bool one_way);

// What the matrix says of one value: "bad_node", "bad_link", "doubtful", "unjudged" or "ok".
std::string PairVerdict(const PairCase& measured, size_t from, size_t to);

// Whether an answer can be had of the case, "nothing stands out" above all.
PairJudgement JudgementOf(const PairCase& measured);

// Whether the pairs scatter so much that a link, or even a node, that is worse by the threshold
// need not be named.
bool NoiseHides(const PairCase& measured);

// Whether it is known that nothing is worse by the threshold: every pair is judged, none is named,
// and neither the noise nor a value's own uncertainty leaves it open.
bool IsClear(const PairCase& measured);

// What stands out, a sentence each: "node c: 43% below the others on all of its 6 links". Of
// what cannot be judged it says so, how much is measured and what to do.
std::vector<std::string> PairFindings(const PairCase& measured);

// A node or link that a case names.
struct PairSuspect {
  std::string name;    // "node c", "link a-d".
  std::string advice;  // What to look at.
  std::vector<size_t> cases;
};

// All that any of `cases` names: nodes first, then by how many cases name it.
std::vector<PairSuspect> PairSuspects(const std::vector<PairCase>& cases);

// Whether a node, a link or a failed pair is named.
bool AnyBad(const PairCase& measured);

// For each case a matrix of medians and what stands out; then what to look at.
std::string PairsText(const std::vector<PairCase>& cases, const Style& style);
// One record a pair and direction, failed and missing ones included.
std::string PairsCsv(const std::vector<PairCase>& cases);
// An array, one object a case.
std::string PairsJson(const std::vector<PairCase>& cases);

}  // namespace assay::cli
