// The interface of a benchmark and its cases. A case is a benchmark with a value for every
// parameter. This file needs neither CUDA nor protobuf, and is written in C++17 so that nvcc can
// compile it.
//
// For each case, the runner calls these functions in order, on every rank (process):
//   Benchmark::Prepare, Case::Verify, Case::Run (for the warm-up, then for the timed window),
//   Case::VerifyLast
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "measure/measure.h"
#include "model/parameter.h"
#include "model/work.h"

namespace assay {

class Peers;

// Optional libraries, which a build or a node may lack.
enum class Library {
  kBlas,  // Matrix products on CPUs. Results of different versions are not compared.
  kCublasLt,
  kNccl,
};

enum class Direction { kHigherIsBetter, kLowerIsBetter };

// The source of a metric's value. Most values are computed from the time of one iteration and an
// amount of work, such as a number of bytes. Only kObserved values are measured by the benchmark
// itself.
enum class Quantity {
  kSeconds,
  kFlops,                // Work::flops per second.
  kBytes,                // Work::bytes per second.
  kLinkBytes,            // Work::link_bytes per second: bus bandwidth.
  kPayloadBytes,         // Work::payload_bytes per second: algorithm bandwidth.
  kOperations,           // Work::operations per second.
  kSecondsPerOperation,  // The time divided by Work::operations: latency.
  kWireBytes,            // CollectiveChoice::wire_bytes per second; absent if unknown.
  kObserved,             // Case::Observed(name): clock cycles, joules.
};

struct Metric {
  std::string name;  // "tflops", "bandwidth", "bus_bandwidth", "time".
  std::string unit;  // "TFLOP/s", "GB/s", "s".
  Direction direction = Direction::kHigherIsBetter;
  std::string description;
  Quantity quantity = Quantity::kSeconds;
  // The factor that converts the quantity from base units (s, FLOP/s, B/s) to `unit`, such as 1e-12
  // for TFLOP/s.
  double scale = 1.0;

  // Returns a metric for a rate, where higher is better. `quantity` selects the kind of work
  // counted per second. `unit` must be "GB/s", "Gbit/s", "GFLOP/s", "TFLOP/s" or "Gop/s".
  static Metric Rate(std::string name, std::string unit, Quantity quantity,
                     std::string description);
  // Returns a metric for a time, where lower is better. `quantity` must be kSeconds or
  // kSecondsPerOperation, and `unit` must be "s", "us" or "ns".
  static Metric Time(std::string name, std::string unit, Quantity quantity,
                     std::string description);
  // Returns a metric whose values are Case::Observed(name), in any unit.
  static Metric Observed(std::string name, std::string unit, Direction direction,
                         std::string description);
};

// Returns the metric "time" that every benchmark has, in seconds per iteration.
Metric TimeMetric();

// A case and its work, computed by hand. A test compares the work with Benchmark::WorkOf().
struct WorkedExample {
  ParameterMap parameters;  // The others have their defaults.
  Work work;
};

// A case with invalid parameters, and the parameter that the error must name. Used by a test.
struct RefusedExample {
  ParameterMap parameters;
  std::string parameter;
};

struct BenchmarkInfo {
  std::string name;
  // The version of the benchmark, incremented whenever a change makes new results incomparable with
  // earlier ones.
  int version = 1;
  std::string summary;
  Resource resource = Resource::kCpu;
  // True if the benchmark has an integer parameter "ranks", which sets the number of ranks.
  bool collective = false;
  std::vector<Library> libraries = {};  // All of them are needed.
  std::vector<ParameterSpec> parameters;
  // The first one is the primary metric.
  std::vector<Metric> metrics;
  // The formulas for FLOPs, bytes and predicted time, which are shown to users.
  std::string model;
  // An explanation, for users, of how the time of an iteration is predicted. If there is no
  // prediction, the text is "none: " followed by the reason. Empty for the usual prediction,
  // max(FLOPs / peak, bytes / bandwidth, link bytes / link bandwidth).
  std::string prediction;
  // The parameters of a small case for the self-test, which is verified within a second. Parameters
  // not listed have their default values.
  ParameterMap selftest_parameters;
  // Further cases for the self-test, such as other data types and variants. Each lists only what
  // differs from `selftest_parameters`.
  std::vector<ParameterMap> selftest_variants;
  std::vector<WorkedExample> examples = {};
  std::vector<RefusedExample> refused = {};

  bool Needs(Library library) const;
};

// The result of comparing an output with the reference.
struct Verdict {
  bool passed = false;
  std::string reference;  // "fp64 on host, 64 rows".
  double error = 0;       // In `norm`; NaN never passes.
  double tolerance = 0;
  std::string norm = "relative_l2";  // Or "worst_row", "max_abs", "mismatches".
  int64_t elements_checked = 0;
  // The first wrong value: "element 17 is 3, should be 2". Empty if the output passed.
  std::string detail;
};

// The conditions under which a case is timed.
struct Timing {
  std::string cache = "cold";        // "hot", or "none" if caches are what is measured.
  std::string fill = "random";       // Or "zeros".
  std::string timer = "host_clock";  // Or "events", "graph", "nccl_tests".
};

// The algorithm that a library chose for a collective.
struct CollectiveChoice {
  std::string algorithm;  // As the library names it: "RING", "TREE", "NVLS", "P2P".
  std::string protocol;   // "SIMPLE", "LL", "LL128"; empty if there is none.
  int channels = 0;       // 0 if unknown.
  std::string source;     // Where this comes from: "NCCL profiler".
  // The number of bytes that the links carry per iteration, including protocol overhead. The mean
  // over all ranks (processes), or 0 if unknown for the algorithm.
  double wire_bytes = 0;
};

// Additional facts about a case with several ranks, found by one rank after the timed window.
struct Diagnosis {
  // The time that this rank's GPU spent in each iteration, in seconds. The last rank to start has
  // the shortest times, because it does not wait for the others.
  std::vector<double> inside;
  // True if no rank can finish an iteration before all ranks have started it. If false, the times
  // in `inside` do not show which rank started last.
  bool mutual = false;
  std::optional<CollectiveChoice> choice;
};

// A benchmark with a value for every parameter, ready to run on one rank: buffers are allocated and
// filled, and code is loaded. Must be used by a single thread. The destructor releases everything
// and never throws.
class Case {
 public:
  virtual ~Case() = default;

  virtual Timing HowTimed() const = 0;

  // Returns the shortest duration, in seconds, that can be measured precisely as one sample.
  // Shorter iterations are timed several at a time.
  virtual double MinSampleSeconds() const { return 20e-6; }

  // Returns how many untimed iterations Run(samples, batch) runs in addition to the timed ones.
  virtual int64_t UntimedIterations(int64_t /*samples*/, int64_t /*batch*/) const { return 0; }

  // Returns the smallest number of iterations that the case can run at once. Greater than 1 if, for
  // example, several iterations are launched together as a CUDA graph. Run()'s argument `batch` is
  // a multiple of this number.
  virtual int64_t BatchGranularity() const { return 1; }

  // Changes the rule for ending the warm-up and the measurement, if the default rule does not suit
  // the case.
  virtual void AdjustRule(MeasureRule*) const {}

  // Fills the output with NaN, runs one iteration and compares the output with a reference. The
  // verdict says whether the output is correct. An error means that the comparison could not be
  // made.
  virtual Result<Verdict> Verify() = 0;

  // Takes `samples` samples, each of which times `batch` iterations back to back. Appends the time
  // of each sample, divided by `batch`, to `seconds`. The caller discards the results of the first
  // call after `batch` changes. If there are several ranks, all of them call this function at about
  // the same time with the same arguments. If a late rank could delay the first sample, the
  // implementation should start with an untimed iteration.
  virtual Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) = 0;

  // Runs `iterations` iterations back to back and waits for them. `iterations` must be a multiple
  // of BatchGranularity(). A profiler records this call, so implementations should do nothing else
  // on the device. The default takes one sample with Run().
  virtual Status RunUntimed(int64_t iterations);

  // Compares the output of the last iteration of Run() with the reference.
  virtual Result<Verdict> VerifyLast() = 0;

  // Returns the values of a metric that the case measures itself (kObserved): one for every sample
  // that Run() has taken since Prepare(), in order and in the metric's unit. The report uses only
  // the last ones, from the timed window. If there are no values, the metric is omitted.
  virtual std::vector<double> Observed(const std::string& /*name*/) const { return {}; }

  // Runs additional, untimed iterations to find out more about the case, such as which rank was
  // late. If there are several ranks, all of them call this function at about the same time, after
  // VerifyLast(). The default does nothing.
  virtual Result<Diagnosis> Diagnose(int64_t /*iterations*/) { return Diagnosis(); }

  // Measures the best rates that the device can reach, for comparison with the rates of the case.
  // Takes well under a second. The default measures nothing.
  virtual Result<Ceilings> MeasureCeilings() { return Ceilings(); }
};

// The input of Benchmark::Prepare(). The objects that it points to outlive the case.
struct RunContext {
  // The result of CheckParameters(). Use Integer(), Number() and Word() below to read values.
  ParameterMap parameters;
  // The seed of the random input data. It is the same on every rank.
  uint64_t seed = 0;
  int rank = 0;
  int world_size = 1;
  // The CUDA ordinal of the rank's GPU among the GPUs that this process sees.
  int gpu = 0;
  // Exchanges messages with the other ranks. Null if world_size is 1.
  Peers* peers = nullptr;
  // The numeric IP address at which other ranks can reach this rank.
  std::string advertise_address = "127.0.0.1";
  Clock* clock = &Clock::Real();
};

// Return the value of a parameter. `parameters` must have passed CheckParameters(). Assert that the
// parameter exists.
int64_t Integer(const ParameterMap& parameters, const std::string& name);
double Number(const ParameterMap& parameters, const std::string& name);  // As a double.
const std::string& Word(const ParameterMap& parameters, const std::string& name);

// Makes a case of type T from `arguments` and prepares it.
template <typename T, typename... Arguments>
Result<std::unique_ptr<Case>> PrepareCase(Arguments&&... arguments) {
  auto prepared = std::make_unique<T>(std::forward<Arguments>(arguments)...);
  ASSAY_RETURN_IF_ERROR(prepared->Prepare());
  return std::unique_ptr<Case>(std::move(prepared));
}

class Benchmark;

// Checks `given`, the parameters for a case of `benchmark`. Returns them in canonical form, with
// default values for missing parameters. If `given` has mistakes, the error lists one violation for
// each, with the parameter's name as its `field`.
Result<ParameterMap> CheckParameters(const Benchmark& benchmark, const ParameterMap& given);

// Returns the number of ranks (processes) of a case: the parameter "ranks" if the benchmark is
// collective, otherwise 1.
int WorldSizeOf(const BenchmarkInfo& info, const ParameterMap& parameters);

// Returns the error that Prepare() uses to report that this hardware or software cannot run the
// case. The case is then recorded as UNSUPPORTED rather than failed.
Status Unsupported(std::string why);
bool IsUnsupported(const Status& status);
// Returns the error for a failed allocation. `what` names the device and the requested number of
// bytes.
Status OutOfMemory(std::string what);

// A benchmark. It is immutable, so threads may share it.
class Benchmark {
 public:
  virtual ~Benchmark() = default;

  virtual const BenchmarkInfo& Info() const = 0;

  // Returns why this machine cannot run the benchmark, such as "needs a CUDA GPU; this node has
  // none", or "" if it can.
  virtual std::string UnsupportedReason() const { return ""; }

  // Checks rules that the constraints in Info().parameters cannot express. `parameters` must be in
  // canonical form. Returns OK, or an error made by InvalidParameter().
  virtual Status Validate(const ParameterMap& /*parameters*/) const { return Status::Ok(); }

  // Returns the work of one iteration. `parameters` must have passed CheckParameters().
  virtual Result<Work> WorkOf(const ParameterMap& parameters, int world_size) const = 0;

  // Returns the value of metric number `index` in Info().metrics for an iteration that took
  // `seconds`. By default, computes the value according to Metric::quantity.
  virtual double MetricValue(size_t index, const Work& work, double seconds) const;

  // Prepares a case so that its first iteration can run. Returns Unsupported() if this hardware
  // cannot run it.
  // If there are several ranks, implementations must proceed in this order:
  //   1. Do whatever may fail on this rank alone, such as allocating memory.
  //   2. Share the result with the other ranks by calling Agree().
  //   3. Do whatever requires the other ranks.
  // All ranks must make the same calls on context.peers in the same order, even after a failure.
  virtual Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const = 0;
};

}  // namespace assay
