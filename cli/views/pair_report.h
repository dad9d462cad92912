// Builds the report of `assay pairs`, which finds slow or failing connections between nodes. For
// each benchmark case, a matrix shows the result of every pair of nodes. The functions here have no
// side effects.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/pair_model.h"
#include "analysis/suspects.h"
#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/result_service.pb.h"
#include "cli/views/table.h"
#include "common/status.h"

namespace assay::cli {

// The repetitions of one case on one pair of nodes.
struct PairCell {
  analysis::PairValue value;  // The median of the repetitions' medians.
  int repetitions = 0;
  std::vector<std::string> flags;  // DoubtsOf all repetitions.
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
  analysis::PairAnalysis analysis;  // Its values are those of `cells`.
  // Pairs of `nodes` without a value; each direction counts if the analysis is directed.
  std::vector<std::pair<size_t, size_t>> missing;

  // Returns kClear only if every pair of `nodes` has a value.
  analysis::Verdict verdict() const;
};

// Jobs of one benchmark that failed on one pair of nodes, in any case.
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
  std::vector<analysis::FailingNode> failing_nodes;
  std::vector<analysis::Suspect> suspects;  // Suspect::analyses are indices of `cases`.
  size_t waiting_jobs = 0;                  // Queued or running.
  // Matching nodes that were absent when the campaign was created, at most 20.
  std::vector<std::string> absent_nodes = {};
  double threshold = 0;

  // Returns kBad if anything is bad or failed, kClear if every case is clear and no job waits.
  analysis::Verdict verdict() const;
};

struct PairQuery {
  std::string metric;  // Empty: the metrics of `results` as they are.
  double threshold = 0.10;
};

// Builds the report from the results and jobs of one campaign. Ignores jobs that do not run on
// exactly two nodes, and their results. If no result contains the requested metric, returns
// UNKNOWN_METRIC with a list of the known metrics.
Result<PairReport> MakePairReport(const std::vector<v1::StoredResult>& results,
                                  const std::vector<v1::Job>& jobs, const PairQuery& query);

// Renders the report as text: a matrix of medians and a list of the bad pairs for each case,
// followed by the failed jobs and advice on what the user should check.
std::string PairsText(const PairReport& report, const Style& style);
// One record per case, pair and direction, failed and missing ones included.
std::string PairsCsv(const PairReport& report);
std::string PairsJson(const PairReport& report);

}  // namespace assay::cli
