// Produces simulated results.
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

// Simulates the measurements of a node. The values depend only on the seed, the node, the case, and
// how often the case has run before. Not thread-safe.
class SimulatedMeasurements {
 public:
  // `first_run` is the number of runs of each case in simulations before this one.
  SimulatedMeasurements(uint64_t seed, std::vector<Fault> faults, uint64_t first_run = 0);

  // Returns a simulated result for one case (a benchmark with fixed parameters) of `job`. The time
  // is derived from the GPU's spec sheet: the predicted time, divided by an efficiency, plus noise.
  // A job on several GPUs is only as fast as the slowest of them. `node` is the node of rank 0.
  v1::CaseResult Measure(const v1::NodeDescription& node, const v1::JobSpec& job,
                         const v1::BenchmarkCase& one);

 private:
  double SlownessOf(const v1::JobSpec& job) const;

  const uint64_t seed_;
  const std::vector<Fault> faults_;
  const uint64_t first_run_;
  std::map<uint64_t, uint64_t> runs_;  // By a hash of the series.
};

}  // namespace assay::agent
