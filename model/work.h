// The work of one iteration of a benchmark, such as its FLOPs and bytes, from which the roofline
// model predicts times.
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

// The column of the spec sheet with the peak rate for Work::flops.
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

// The mix of reads and writes in a benchmark's memory traffic (Work::bytes). Results are compared
// with a memory bandwidth measured with the same mix.
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

// A kind of work of the multiprocessors for which no spec sheet states a peak rate.
enum class SmRate {
  kNone,
  kInt32Mad,     // Multiply-adds of 32-bit integers.
  kSharedBytes,  // Bytes that the banks of shared memory and L1 can serve.
};

// Return the names used in files and messages, such as "fp64_vector", "copy", "nvlink" and
// "int32_mad". Return "" for kNone.
std::string_view ToText(Peak peak);
std::string_view ToText(Traffic traffic);
std::string_view ToText(LinkKind link);
std::string_view ToText(SmRate rate);

// The amounts of work in one iteration of a benchmark on one rank, computed from the algorithm
// rather than measured. An amount is 0 if the benchmark does no work of that kind.
struct Work {
  double flops = 0;
  Peak peak = Peak::kNone;
  double bytes = 0;  // To and from main memory: the GPU's memory for a GPU benchmark.
  Traffic traffic = Traffic::kCopy;
  // The number of bytes that each rank (process) must send in one direction. For a collective,
  // nccl-tests computes the bus bandwidth from this number. For a copy between host and GPU or
  // between GPUs, it is the number of bytes copied.
  double link_bytes = 0;
  LinkKind link = LinkKind::kNvlink;
  // The size of the data from the user's point of view. For a collective, nccl-tests computes the
  // algorithm bandwidth from this size. For a benchmark of a cache or shared memory, it is the
  // number of bytes read from there.
  double payload_bytes = 0;
  // The number of operations. Depending on the benchmark, an operation is, for example, a dependent
  // load, a kernel launch or an element.
  double operations = 0;
  // The amount of other work on all multiprocessors together, in the unit of `sm_rate`.
  double sm_amount = 0;
  SmRate sm_rate = SmRate::kNone;
  int sm_count = 0;  // Multiprocessors that share `sm_amount`; 0 means all of the GPU.
  // The part of an iteration's time that does not depend on its size, such as a kernel launch or
  // the latency of a link.
  double fixed_seconds = 0;
  // True if fixed_seconds is the entire time of an iteration, as in a benchmark that measures
  // nothing but kernel launches.
  bool fixed_only = false;
};

// The best rates, per second, that this device reached in a short measurement just before or after
// a benchmark. The efficiency of a result is relative to these rates. Rates that were not measured
// are nullopt.
struct Ceilings {
  std::optional<double> flops;
  std::optional<double> bytes;
  std::optional<double> link_bytes;
  // The measured time, in seconds, of an iteration with almost no work. It consists of overhead,
  // such as waking up threads. Predictions use the larger of this time and Work::fixed_seconds.
  std::optional<double> fixed_seconds;
};

}  // namespace assay
