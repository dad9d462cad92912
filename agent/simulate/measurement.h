// Results of cases that nothing measured.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/simulate/faults.h"
#include "assay/v1/inventory.pb.h"
#include "assay/v1/job.pb.h"
#include "assay/v1/result.pb.h"

namespace assay::agent {

// A node's simulated measurements. The same seed, node, case and number of earlier runs of the case
// give the same values. Not thread-safe.
class SimulatedMeasurements {
 public:
  SimulatedMeasurements(uint64_t seed, std::vector<Fault> faults);

  // Returns the result of a case of `job` on rank 0's node `node`. The time is the prediction from
  // the spec sheet, divided by an efficiency, with noise. A gang is as fast as its slowest GPU.
  v1::CaseResult Measure(const v1::NodeDescription& node, const v1::JobSpec& job,
                         const v1::BenchmarkCase& one);

 private:
  double SlownessOf(const v1::JobSpec& job) const;

  const uint64_t seed_;
  const std::vector<Fault> faults_;
  std::map<uint64_t, uint64_t> runs_;  // By a hash of the series.
};

}  // namespace assay::agent
