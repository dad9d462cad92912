// The work of one iteration of a benchmark, as the roofline model needs it.
#pragma once

#include <optional>
#include <string>

namespace assay {

// The hardware that the ranks of a benchmark use.
enum class Resource {
  kCpu,      // One rank, on the CPUs of one node.
  kGpu,      // One rank per GPU, all on one node.
  kNetwork,  // One rank per node, over the network.
};

// The work of one iteration on one rank, counted from the algorithm. Zero: the amount does not
// apply to the benchmark.
struct Work {
  double flops = 0;
  double bytes = 0;  // To and from main memory (the GPU's memory for a GPU case).
  // Minimum number of bytes that each rank sends: the "bus" bytes of a collective, in one
  // direction. For a host or peer transfer: its bytes.
  double link_bytes = 0;
  // Links that carry `link_bytes`: "nvlink" or "pcie" of the GPU, or "network" between nodes,
  // which no spec sheet covers.
  std::string link = "nvlink";
  // The size that users name: S in algorithm bandwidth S / t. Also bytes that move between
  // places other than main memory (shared memory, caches).
  double payload_bytes = 0;
  // Number of dependent loads, kernel launches or elements: the unit that the benchmark counts.
  double operations = 0;
  // Direction of `bytes`, which selects the measured ceiling: "copy" (as many bytes read as
  // written), "read" or "write" (nearly all in one direction).
  std::string traffic = "copy";
  // Column of the spec sheet that bounds `flops`: "fp64_vector", "fp64_tensor", "fp32", "tf32",
  // "bf16" (also for fp16), "fp8", "int8", "fp4". Empty: none applies.
  std::string peak;
  // Work of all multiprocessors together that has no peak in the spec sheets. `sm_rate` names
  // its unit: "int32_mad" counts 32-bit integer multiply-adds; "shared_bytes" counts the bytes
  // that the banks of shared memory and L1 could serve in that time. RatePerClock() returns the
  // rate of one multiprocessor per clock cycle.
  double sm_amount = 0;
  std::string sm_rate;
  int sm_count = 0;  // Multiprocessors that share `sm_amount`; 0: all of the GPU.
  // Time of an iteration with no work (launch, link latency).
  double fixed_seconds = 0;
  // True if `fixed_seconds` is the whole iteration: the benchmark measures launches.
  bool fixed_only = false;
};

// Best rates, per second, that this device reached in a probe run next to the case. They give
// efficiency_measured. Absent: not measured.
struct Ceilings {
  std::optional<double> flops;
  std::optional<double> bytes;
  std::optional<double> link_bytes;
  // Time of an iteration with almost no work, in seconds: waking threads, a call. The larger of
  // this and Work::fixed_seconds counts.
  std::optional<double> fixed_seconds;
};

}  // namespace assay
