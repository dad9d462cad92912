// What was measured between every two nodes, as a matrix, and which node or link is bad.
// Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/result_service.pb.h"
#include "cli/pair_model.h"
#include "cli/table.h"

namespace assay::cli {

// One case, measured on pairs of nodes.
struct PairCase {
  std::string benchmark;
  std::string parameters;  // In a few words; without what tells two directions apart.
  std::string metric;
  std::string unit;
  bool higher_is_better = true;
  // Whether a value is of bytes from the first node to the second.
  bool directed = false;
  std::vector<std::string> nodes;  // By name.
  std::vector<PairValue> values;   // Medians, one a pair and direction, by node.
  // Why a pair has no value, by its nodes, the smaller number first.
  std::map<std::pair<size_t, size_t>, std::string> failures;
  PairAnalysis analysis;
};

// The cases of results on two nodes, in the order of their names; jobs that failed are
// failures of their pairs. `threshold` as PairRule's.
std::vector<PairCase> PairCases(const std::vector<v1::StoredResult>& results,
                                const std::vector<v1::Job>& jobs, double threshold);

// What stands out, a sentence each: "node c: 43% below the others on all of its 6 links".
std::vector<std::string> PairFindings(const PairCase& measured);

// Whether a node, a link or a failed pair is named.
bool AnyBad(const PairCase& measured);

// For each case a matrix of medians and what stands out.
std::string PairsText(const std::vector<PairCase>& cases, const Style& style);
// One record a pair and direction, failed ones included.
std::string PairsCsv(const std::vector<PairCase>& cases);
// An array, one object a case.
std::string PairsJson(const std::vector<PairCase>& cases);

}  // namespace assay::cli
