// Describes the findings of a PairReport in words. The texts may contain names sent by other
// machines, so callers must make them printable before showing them.
#pragma once

#include <string>
#include <vector>

#include "analysis/pair_report.h"

namespace assay::analysis {

// A node or a link that was found to be faulty.
struct PairFinding {
  std::vector<size_t> nodes;  // Two for a link.
  bool certain = true;        // False if noise could explain it.
  std::string text;           // "43% below the others on all of its 7 links"
};

// Returns "node a" or "link a-b".
std::string SubjectOf(const PairReport& report, const std::vector<size_t>& nodes);

// Returns "tcp_bandwidth 64MiB".
std::string CaseName(const PairCase& one);

// Returns the failure of a case between two nodes, or null.
const PairFailure* FailureOf(const PairReport& report, const PairCase& one, size_t a, size_t b);

// Returns the nodes and links that are bad in one case, certain ones first.
std::vector<PairFinding> FindingsOf(const PairReport& report, const PairCase& one);

// Returns the nodes that probably caused failures, followed by the failed pairs that none of these
// nodes explains.
std::vector<PairFinding> FailuresOf(const PairReport& report);

// Returns one sentence for each node or pair that could not be judged in a case.
std::vector<std::string> GapsOf(const PairReport& report, const PairCase& one);

// Returns what to check about a suspect: "its cable, switch port and network card".
std::string AdviceOn(const PairReport& report, const Suspect& suspect);

}  // namespace assay::analysis
