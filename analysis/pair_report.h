// Finds slow and failing connections from a campaign (a batch of benchmark jobs) that measured
// pairs of nodes. The report has a matrix for each benchmark case with the results of the measured
// pairs. The functions here have no side effects.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/pair_model.h"
#include "analysis/suspects.h"
#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/result_service.pb.h"
#include "common/status.h"

namespace assay::analysis {

// The repetitions of one case on one pair of nodes.
struct PairCell {
  PairValue value;  // The median of the repetitions' medians.
  int repetitions = 0;
  std::vector<std::string> flags;  // Of all repetitions, see PairQuery::flags_of.
};

// One case and metric. Nodes are numbered as in PairReport::nodes.
struct PairCase {
  std::string benchmark;
  std::string parameters;  // Without the direction.
  std::string metric;
  std::string unit;
  bool higher_is_better = true;
  // Nodes that the case was or will be measured on.
  std::vector<size_t> nodes;
  std::vector<PairCell> cells;
  PairAnalysis analysis;  // Its values are those of `cells`.
  // Pairs of `nodes` without a value; each direction counts if the analysis is directed.
  std::vector<std::pair<size_t, size_t>> missing;

  // Returns kClear only if every pair of `nodes` has a value.
  Verdict verdict() const;
};

// The failed jobs of one benchmark on one pair of nodes, over all of its cases.
struct PairFailure {
  size_t a = 0;
  size_t b = 0;
  std::string benchmark;
  size_t jobs = 0;
  std::string reason;  // The reason of one of the jobs.
};

struct PairReport {
  std::vector<std::string> nodes;  // Sorted by name.
  std::vector<PairCase> cases;     // Sorted by benchmark and parameters.
  std::vector<PairFailure> failures;
  std::vector<FailingNode> failing_nodes;
  std::vector<Suspect> suspects;  // Suspect::analyses are indices of `cases`.
  size_t waiting_jobs = 0;        // Queued or running.
  // Matching nodes that were absent when the campaign was created, at most 20.
  std::vector<std::string> absent_nodes = {};
  double threshold = 0;
  // The word that texts use for an end of a link, "node" or "GPU".
  std::string noun = "node";

  // Returns kBad if anything is bad or failed, kClear if every case is clear and no job waits.
  Verdict verdict() const;
};

struct PairQuery {
  std::string metric;  // Empty: the metrics of `results` as they are.
  double threshold = 0.10;
  // A function that returns the flags that make a result doubtful. If null, the flags recorded with
  // the result are used.
  std::function<std::vector<std::string>(const v1::CaseResult& run)> flags_of = nullptr;
};

// Builds the report from the results and jobs of one campaign. Ignores jobs that do not run on
// exactly two nodes, along with their results. If no result contains the requested metric, returns
// INVALID_ARGUMENT with reason UNKNOWN_METRIC and a list of the known metrics.
Result<PairReport> MakePairReport(const std::vector<v1::StoredResult>& results,
                                  const std::vector<v1::Job>& jobs, const PairQuery& query);

}  // namespace assay::analysis
