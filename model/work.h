// The work of one iteration of a benchmark, as the roofline model needs it.
#pragma once

#include <optional>
#include <string_view>

namespace assay {

// The hardware that the ranks of a benchmark use.
enum class Resource {
  kCpu,      // One rank, on the CPUs of one node.
  kGpu,      // One rank per GPU, all on one node.
  kNetwork,  // One rank per node, over the network.
};

// The column of the spec sheet that bounds Work::flops.
enum class Peak {
  kNone,
  kFp64Vector,
  kFp64Tensor,
  kFp32,
  kTf32,
  kBf16,  // Also fp16.
  kFp8,
  kInt8,
  kFp4,
};

// How Work::bytes divide into reads and writes, which decides the measured ceiling.
enum class Traffic {
  kCopy,   // As many bytes read as written.
  kRead,   // Nearly all read.
  kWrite,  // Nearly all written.
};

// The link that carries Work::link_bytes.
enum class LinkKind {
  kNvlink,
  kPcie,
  kNetwork,  // Between nodes. No spec sheet gives its rate.
};

// An amount of work of the multiprocessors that no spec sheet has a peak for.
enum class SmRate {
  kNone,
  kInt32Mad,     // Multiply-adds of 32-bit integers.
  kSharedBytes,  // Bytes that the banks of shared memory and L1 can serve.
};

// The names in files and on the wire, for example "fp64_vector", "copy", "nvlink" and
// "int32_mad". Empty for kNone.
std::string_view ToText(Peak peak);
std::string_view ToText(Traffic traffic);
std::string_view ToText(LinkKind link);
std::string_view ToText(SmRate rate);

// The work of one iteration on one rank, counted from the algorithm. A zero means that the
// benchmark does not use that amount.
struct Work {
  double flops = 0;
  Peak peak = Peak::kNone;
  double bytes = 0;  // To and from main memory: the GPU's memory for a GPU benchmark.
  Traffic traffic = Traffic::kCopy;
  // Bytes that each rank must send in one direction: the "bus" bytes of a collective, or the bytes
  // of a transfer between host and GPU or between GPUs.
  double link_bytes = 0;
  LinkKind link = LinkKind::kNvlink;
  // The size that users name. For a collective this is S in the algorithm bandwidth S / t. For
  // caches and shared memory it is the bytes that move there.
  double payload_bytes = 0;
  // Dependent loads, kernel launches or elements: whatever the benchmark counts.
  double operations = 0;
  // The total over all multiprocessors, in the unit of `sm_rate`.
  double sm_amount = 0;
  SmRate sm_rate = SmRate::kNone;
  int sm_count = 0;  // Multiprocessors that share `sm_amount`; 0 means all of the GPU.
  // Time of an iteration that does not depend on its size (launch, link latency).
  double fixed_seconds = 0;
  // True if an iteration consists of fixed_seconds alone: launches are what is measured.
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
