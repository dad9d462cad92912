// What a benchmark declares, and what one of its cases does. Plain C++ without
// CUDA or protobuf, and C++17, so that nvcc reads it too.
//
// The runner takes a case through these steps, on every rank:
//   Benchmark::Prepare -> Case::Verify -> Case::Run... (warm-up, then the timed
//   window) -> Case::VerifyLast
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "measure/measure.h"
#include "model/parameter.h"
#include "model/work.h"

namespace assay {

class Peers;

// Libraries that a build or a node may lack.
enum class Library {
  kBlas,  // Of the CPUs. Results of another version are not compared.
  kCublasLt,
  kNccl,
};

enum class Direction { kHigherIsBetter, kLowerIsBetter };

// What a metric is computed from: the time of one iteration, an amount in Work divided by that
// time, or something that the case itself observes.
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
  // Multiplies the quantity in base units (s, FLOP/s, B/s): 1e-12 for TFLOP/s.
  double scale = 1.0;

  // An amount of Work per second; higher is better. `unit` is "GB/s", "Gbit/s", "GFLOP/s",
  // "TFLOP/s" or "Gop/s".
  static Metric Rate(std::string name, std::string unit, Quantity quantity,
                     std::string description);
  // kSeconds or kSecondsPerOperation; lower is better. `unit` is "s", "us" or "ns".
  static Metric Time(std::string name, std::string unit, Quantity quantity,
                     std::string description);
  // Case::Observed(name), in any unit.
  static Metric Observed(std::string name, std::string unit, Direction direction,
                         std::string description);
};

// The metric "time" that every benchmark has, in seconds per iteration.
Metric TimeMetric();

// A case whose work was computed by hand, for a test of Benchmark::WorkOf.
struct WorkedExample {
  ParameterMap parameters;  // The others have their defaults.
  Work work;
};

// A case that must be refused, and the parameter that the error names.
struct RefusedExample {
  ParameterMap parameters;
  std::string parameter;
};

struct BenchmarkInfo {
  std::string name;
  // Raised when a change makes results incomparable with earlier ones.
  int version = 1;
  std::string summary;
  Resource resource = Resource::kCpu;
  // True if an integer parameter "ranks" sets how many ranks run.
  bool collective = false;
  std::vector<Library> libraries = {};  // All of them are needed.
  std::vector<ParameterSpec> parameters;
  // The first is the primary one.
  std::vector<Metric> metrics;
  // The formulas of FLOPs, bytes and predicted time, for users.
  std::string model;
  // For users, if the prediction is not max(FLOPs / peak, bytes / bandwidth, link bytes / link):
  // how the time is predicted, or "none: " and the reason.
  std::string prediction;
  // A case that verifies within a second; parameters that are not here have their defaults.
  ParameterMap selftest_parameters;
  // Changes to `selftest_parameters` for more types and variants that the self-test runs.
  std::vector<ParameterMap> selftest_variants;
  std::vector<WorkedExample> examples = {};
  std::vector<RefusedExample> refused = {};

  bool Needs(Library library) const;
};

// How a comparison with the reference ended.
struct Verdict {
  bool passed = false;
  std::string reference;  // "fp64 on host, 64 rows".
  double error = 0;       // In `norm`; NaN never passes.
  double tolerance = 0;
  std::string norm = "relative_l2";  // Or "worst_row", "max_abs", "mismatches".
  int64_t elements_checked = 0;
  // Where it first went wrong: "element 17 is 3, should be 2". Empty if it passed.
  std::string detail;
};

// How a case takes its times.
struct Timing {
  std::string cache = "cold";        // "hot", or "none" where caches are the subject.
  std::string fill = "random";       // Or "zeros".
  std::string timer = "host_clock";  // Or "events", "graph", "nccl_tests".
};

// What the library behind a collective chose for it.
struct CollectiveChoice {
  std::string algorithm;  // As the library names it: "RING", "TREE", "NVLS", "P2P".
  std::string protocol;   // "SIMPLE", "LL", "LL128"; empty where there is none.
  int channels = 0;       // 0 if unknown.
  std::string source;     // Who told: "NCCL profiler".
  // What links carry for one iteration, a mean over ranks, the protocol's flags included;
  // 0 if the algorithm does not tell.
  double wire_bytes = 0;
};

// How a gang's iterations went on one rank, found out after the timed window.
struct Diagnosis {
  // Seconds inside each iteration, by the GPU's clock from just before to just after: those
  // of a rank that comes late are short, for it waits for nobody.
  std::vector<double> inside;
  // Whether no rank can be done before all have begun; else `inside` tells nothing of who
  // came last.
  bool mutual = false;
  std::optional<CollectiveChoice> choice;
};

// One prepared case on one rank: buffers allocated and filled, code loaded. Used
// by one thread. Destruction releases everything and never throws.
class Case {
 public:
  virtual ~Case() = default;

  virtual Timing HowTimed() const = 0;

  // The shortest sample that the timer resolves, in seconds. Shorter iterations
  // are timed in batches that last at least as long.
  virtual double MinSampleSeconds() const { return 20e-6; }

  // Iterations that such a call of Run takes beside those it times.
  virtual int64_t UntimedIterations(int64_t /*samples*/, int64_t /*batch*/) const { return 0; }

  // Run's `batch` is a multiple of this: the iterations of a captured graph.
  virtual int64_t BatchGranularity() const { return 1; }

  // Changes the warm-up bounds or stopping rule where the defaults of its
  // resource do not fit.
  virtual void AdjustRule(MeasureRule*) const {}

  // Poisons the output, runs one iteration and compares with the reference. A
  // wrong output is a verdict; an error means that it could not be found out.
  virtual Result<Verdict> Verify() = 0;

  // Times `samples` samples of `batch` back-to-back iterations and appends each
  // sample's seconds an iteration (sample time / batch). The engine discards the
  // first call after `batch` changed. In a gang
  // all ranks are called with the same numbers at about the same time: begin with
  // one untimed iteration if a late rank would show in the first sample.
  virtual Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) = 0;

  // Runs `iterations` iterations, a multiple of BatchGranularity(), back to back and
  // waits for them, for a profiler to watch: nothing else of the case's, if it can.
  // The default is a sample of Run, with what Run adds to it.
  virtual Status RunUntimed(int64_t iterations);

  // Compares what the last iteration of Run left behind with the reference.
  virtual Result<Verdict> VerifyLast() = 0;

  // Samples of the metric `name`, whose quantity is kObserved, in its unit: one for
  // every sample of Run since the case was prepared, in order. The report takes the
  // last ones, those of the timed window; without any it leaves the metric out.
  virtual std::vector<double> Observed(const std::string& /*name*/) const { return {}; }

  // In a gang, after VerifyLast, on all ranks at about the same time: `iterations` more
  // iterations, of which none counts. Default: nothing to tell.
  virtual Result<Diagnosis> Diagnose(int64_t /*iterations*/) { return Diagnosis(); }

  // Probes the device for a short time (well under a second). Default: nothing.
  virtual Result<Ceilings> MeasureCeilings() { return Ceilings(); }
};

// What a case is prepared with. Pointers outlive the case.
struct RunContext {
  // Canonical and complete: read with Integer() and Word() below.
  ParameterMap parameters;
  // The same on every rank; inputs derive from it (and from the rank).
  uint64_t seed = 0;
  int rank = 0;
  int world_size = 1;
  // CUDA ordinal, within what this process sees, of the rank's GPU.
  int gpu = 0;
  // Control plane of the gang; null if world_size is 1.
  Peers* peers = nullptr;
  // Numeric address on which other ranks reach this one.
  std::string advertise_address = "127.0.0.1";
  Clock* clock = &Clock::Real();
};

// A parameter of a checked map. The name must be declared: a missing one asserts.
int64_t Integer(const ParameterMap& parameters, const std::string& name);
double Number(const ParameterMap& parameters, const std::string& name);  // As a double.
const std::string& Word(const ParameterMap& parameters, const std::string& name);

// Returns the canonical, complete and valid parameters of a case of `benchmark`. The error has one
// violation for each mistake; its `field` is the parameter's name.
class Benchmark;
Result<ParameterMap> CheckParameters(const Benchmark& benchmark, const ParameterMap& given);

// Returns the number of ranks of a case: "ranks" of a collective benchmark, else 1.
int WorldSizeOf(const BenchmarkInfo& info, const ParameterMap& parameters);

// What Prepare returns if this hardware or software cannot run the case: becomes
// the outcome UNSUPPORTED, not a failure.
Status Unsupported(std::string why);
bool IsUnsupported(const Status& status);
// Memory that could not be had; `what` names the device and the bytes asked for.
Status OutOfMemory(std::string what);

// One benchmark: immutable, shared by threads.
class Benchmark {
 public:
  virtual ~Benchmark() = default;

  virtual const BenchmarkInfo& Info() const = 0;

  // Empty if this machine can run it, else why not: "needs a CUDA GPU; this node
  // has none".
  virtual std::string UnsupportedReason() const { return ""; }

  // Checks what the constraints of Info().parameters cannot express. `parameters` are canonical.
  // An error is an InvalidParameter().
  virtual Status Validate(const ParameterMap& parameters) const;

  // The work of one iteration, from canonical and valid parameters alone.
  virtual Result<Work> WorkOf(const ParameterMap& parameters, int world_size) const = 0;

  // Metric `index` of Info().metrics for one iteration of `seconds`. The default
  // follows Metric::quantity.
  virtual double MetricValue(size_t index, const Work& work, double seconds) const;

  // Everything before the first iteration. Unsupported() if this hardware cannot run
  // these parameters. In a gang: first what may fail on this rank alone, then
  // Agree() on it, and only then what needs the other ranks. Whatever fails, all
  // ranks must make the same calls on context.peers in the same order.
  virtual Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const = 0;
};

}  // namespace assay
