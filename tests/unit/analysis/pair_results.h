// Makes results and jobs of pairs of nodes.
#pragma once

#include <string>
#include <vector>

#include "analysis/pair_report.h"

namespace assay::analysis {

// Returns a result of "tcp_bandwidth" of 64 MiB, in GB/s.
inline v1::StoredResult ResultOf(const std::string& from, const std::string& to, double median,
                                 const std::string& direction = "unidirectional") {
  v1::StoredResult stored;
  v1::CaseResult& run = *stored.mutable_case_result();
  run.set_benchmark("tcp_bandwidth");
  run.set_outcome(v1::CASE_OUTCOME_OK);
  (*run.mutable_parameters())["bytes"] = "67108864";
  (*run.mutable_parameters())["direction"] = direction;
  run.mutable_provenance()->add_node_names(from);
  run.mutable_provenance()->add_node_names(to);
  v1::Measurement& measured = *run.add_measurements();
  measured.set_metric("bandwidth");
  measured.set_unit("GB/s");
  measured.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
  measured.set_median(median);
  measured.set_n(100);
  measured.set_ci_low(median * 0.99);
  measured.set_ci_high(median * 1.01);
  return stored;
}

inline v1::Job FailedJob(const std::string& a, const std::string& b) {
  v1::Job job;
  job.set_benchmark("tcp_bandwidth");
  job.set_state(v1::JOB_STATE_FAILED);
  job.add_node_names(a);
  job.add_node_names(b);
  job.mutable_failure()->set_reason(v1::REASON_PEER_LOST);
  job.mutable_failure()->set_message("rank 1 is gone");
  return job;
}

// Returns a result for every pair of the nodes a, b, ..., with the value that `value` gives.
template <typename Value>
std::vector<v1::StoredResult> EveryPair(const std::string& nodes, Value value) {
  std::vector<v1::StoredResult> results;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (size_t j = i + 1; j < nodes.size(); ++j) {
      const std::string a(1, nodes[i]);
      const std::string b(1, nodes[j]);
      results.push_back(ResultOf(a, b, value(a, b)));
    }
  }
  return results;
}

}  // namespace assay::analysis
