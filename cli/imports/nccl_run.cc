#include "cli/imports/nccl_run.h"

#include <algorithm>
#include <cmath>

#include "common/text.h"

namespace assay::imports {
namespace {

// Version of the conversion from rows to results. Raise it when the conversion changes.
constexpr int kNcclTestsVersion = 1;

struct Collective {
  std::string_view program;
  std::string_view benchmark;
  bool reduces = false;
  bool rooted = false;
  // `count` is one rank's share of `size`, not the whole.
  bool shared = false;
  // The factor in nccl-tests' definition of the bus bandwidth, busbw:
  //   busbw = algbw * passes * (n - 1) / n
  // Here, n is the number of ranks (processes), and algbw is the size divided by the time. If the
  // factor is 0, busbw equals algbw. See doc/PERFORMANCE.md and getBw in nccl-tests.
  int passes = 0;
};

constexpr Collective kCollectives[] = {
    {.program = "all_gather_perf", .benchmark = "all_gather", .shared = true, .passes = 1},
    {.program = "all_reduce_perf", .benchmark = "all_reduce", .reduces = true, .passes = 2},
    {.program = "alltoall_perf", .benchmark = "all_to_all", .shared = true, .passes = 1},
    {.program = "broadcast_perf", .benchmark = "broadcast", .rooted = true},
    {.program = "gather_perf", .benchmark = "gather", .rooted = true, .shared = true, .passes = 1},
    {.program = "reduce_perf", .benchmark = "reduce", .reduces = true, .rooted = true},
    {.program = "reduce_scatter_perf",
     .benchmark = "reduce_scatter",
     .reduces = true,
     .shared = true,
     .passes = 1},
    {.program = "scatter_perf",
     .benchmark = "scatter",
     .rooted = true,
     .shared = true,
     .passes = 1},
    {.program = "sendrecv_perf", .benchmark = "send_recv"},
};

struct ElementType {
  std::string_view theirs;
  std::string_view ours;
  int bytes = 0;
};

constexpr ElementType kTypes[] = {
    {"bfloat16", "bf16", 2},     {"double", "fp64", 8}, {"f8e4m3", "fp8_e4m3", 1},
    {"f8e5m2", "fp8_e5m2", 1},   {"float", "fp32", 4},  {"fp8_e4m3", "fp8_e4m3", 1},
    {"fp8_e5m2", "fp8_e5m2", 1}, {"half", "fp16", 2},   {"int32", "int32", 4},
    {"int64", "int64", 8},       {"int8", "int8", 1},   {"uint32", "uint32", 4},
    {"uint64", "uint64", 8},     {"uint8", "uint8", 1}};

constexpr std::string_view kOps[] = {"sum", "prod", "max", "min", "avg", "mulsum"};

// Returns busbw / algbw.
double BusFactor(const Collective& collective, int ranks) {
  if (collective.passes == 0) return 1;
  return static_cast<double>(collective.passes) * (ranks - 1) / ranks;
}

double ComputedBandwidth(const NcclRow& row, const NcclTiming& timing) {
  return row.bytes == 0 ? 0 : static_cast<double>(row.bytes) / timing.microseconds * 1e-3;
}

// Returns true if the printed number equals the computed one, up to rounding. nccl-tests prints
// bandwidths with two decimals and times with at least three significant digits.
bool Agree(double printed, double computed) {
  return std::abs(printed - computed) <= 0.0051 + 0.005 * computed;
}

// Makes the results of one run.
class RunConverter {
 public:
  explicit RunConverter(const NcclRun& run) : run_(run) {}

  Result<Imported> Convert() {
    ASSAY_RETURN_IF_ERROR(FindCollective());
    ASSAY_RETURN_IF_ERROR(CheckSummary());
    int empty = 0;
    for (const NcclRow& row : run_.rows) {
      ASSAY_RETURN_IF_ERROR(CheckRow(row));
      if (row.bytes == 0) {
        ++empty;
        continue;
      }
      if (imported_.results.size() + 2 > kMaxResults) {
        return BadFile(row.where, "more than 10000 results; split the file");
      }
      AddResult(row, false);
      AddResult(row, true);
    }
    if (imported_.results.empty()) {
      return BadFile("the file", "every row has 0 bytes: the sizes are below one element per rank");
    }
    if (empty > 0) {
      imported_.notes.push_back("rows of 0 bytes, left out: " + std::to_string(empty));
    }
    return std::move(imported_);
  }

 private:
  Status FindCollective() {
    std::string_view program = run_.program;
    if (program.ends_with("_mpi")) program.remove_suffix(4);  // Built with MPI.
    for (const Collective& one : kCollectives) {
      if (one.program == program) collective_ = &one;
    }
    if (collective_ != nullptr) return Status::Ok();
    return BadFile("the file", "test " + Quote(run_.program) + " has no benchmark in Assay");
  }

  // Compares the rows with the summary that nccl-tests printed, to detect lost or changed rows.
  Status CheckSummary() const {
    if (run_.rows.empty()) return BadFile("the file", "it has no rows");
    double sum = 0;
    bool wrong = false;
    for (const NcclRow& row : run_.rows) {
      for (const NcclTiming* timing : {&row.out_of_place, &row.in_place}) {
        sum += timing->bus_bandwidth;
        wrong = wrong || timing->wrong.value_or(0) > 0;
      }
    }
    const double mean = sum / (2.0 * static_cast<double>(run_.rows.size()));
    const double average = run_.average_bus_bandwidth;
    // Bandwidths have two decimals, the summary has six digits.
    if (std::abs(mean - average) > 0.0051 + 2e-4 * average) {
      return BadFile("the file", "the average of the rows' busbw is " + std::to_string(mean) +
                                     ", the summary says " + std::to_string(average) +
                                     "; rows are missing or changed");
    }
    if (wrong == (run_.out_of_bounds > 0)) return Status::Ok();
    return BadFile("the file",
                   "#wrong of the rows contradicts the summary's \"Out of bounds values\"");
  }

  // Compares the columns of one row with each other.
  Status CheckRow(const NcclRow& row) {
    type_ = std::find_if(std::begin(kTypes), std::end(kTypes),
                         [&](const ElementType& type) { return type.theirs == row.type; });
    if (type_ == std::end(kTypes)) {
      return BadFile(row.where, "unknown element type " + Quote(row.type));
    }
    const int64_t unit = int64_t{type_->bytes} * (collective_->shared ? run_.machines.gpus : 1);
    if (row.bytes % unit != 0 || row.bytes / unit != row.count) {
      return BadFile(row.where, "size " + std::to_string(row.bytes) + " does not match count " +
                                    std::to_string(row.count) + " of type " + row.type);
    }
    if (collective_->reduces &&
        std::find(std::begin(kOps), std::end(kOps), row.op) == std::end(kOps)) {
      return BadFile(row.where, "unknown reduction " + Quote(row.op));
    }
    if (row.root >= run_.machines.gpus || (collective_->rooted && row.root < 0)) {
      return BadFile(row.where, "root " + std::to_string(row.root) + " is not one of the " +
                                    std::to_string(run_.machines.gpus) + " ranks");
    }
    ASSAY_RETURN_IF_ERROR(CheckTiming(row, row.out_of_place));
    return CheckTiming(row, row.in_place);
  }

  Status CheckTiming(const NcclRow& row, const NcclTiming& timing) const {
    if (row.bytes > 0 && timing.microseconds <= 0) return BadFile(row.where, "the time is 0");
    const double algorithm = ComputedBandwidth(row, timing);
    if (!Agree(timing.algorithm_bandwidth, algorithm)) {
      return BadFile(row.where, "algbw does not match size and time");
    }
    if (Agree(timing.bus_bandwidth, algorithm * BusFactor(*collective_, run_.machines.gpus))) {
      return Status::Ok();
    }
    return BadFile(row.where, "busbw does not match algbw for " +
                                  std::string(collective_->benchmark) + " on " +
                                  std::to_string(run_.machines.gpus) + " ranks");
  }

  void AddResult(const NcclRow& row, bool in_place) {
    const NcclTiming& timing = in_place ? row.in_place : row.out_of_place;
    v1::CaseResult& result = imported_.results.emplace_back();
    result.set_benchmark(std::string(collective_->benchmark));
    result.set_benchmark_version(kNcclTestsVersion);
    AddParameters(row, in_place, &result);
    if (timing.wrong) {
      v1::Verification& verification = *result.mutable_verification();
      verification.set_passed(*timing.wrong == 0);
      verification.set_reference("nccl-tests' own check");
      verification.set_error(*timing.wrong);
      verification.set_norm("wrong_elements");
    } else {
      result.mutable_conditions()->add_flags("unverified");
    }
    if (timing.wrong.value_or(0) > 0) {
      result.set_outcome(v1::CASE_OUTCOME_FAILED);
      result.mutable_failure()->set_failure_class(v1::FAILURE_CLASS_JOB);
      result.mutable_failure()->set_reason(v1::REASON_VERIFICATION_FAILED);
      result.mutable_failure()->set_message(
          "nccl-tests found " + std::to_string(std::llround(*timing.wrong)) + " wrong elements");
      return;
    }
    result.set_outcome(v1::CASE_OUTCOME_OK);
    AddTimes(row, timing, &result);
  }

  void AddParameters(const NcclRow& row, bool in_place, v1::CaseResult* result) const {
    auto& parameters = *result->mutable_parameters();
    parameters["ranks"] = std::to_string(run_.machines.gpus);
    parameters["nodes"] = std::to_string(std::max<size_t>(1, run_.machines.hosts.size()));
    parameters["bytes"] = std::to_string(row.bytes);
    parameters["dtype"] = type_->ours;
    if (collective_->reduces) parameters["op"] = row.op;
    if (collective_->rooted) parameters["root"] = std::to_string(row.root);
    parameters["in_place"] = in_place ? "true" : "false";
    parameters["launch"] = run_.graph ? "graph" : "stream";
    parameters["aggregate"] = std::to_string(run_.aggregate);
    parameters["policy"] = "nccl_tests";
    if (!run_.blocking.empty()) parameters["blocking"] = run_.blocking;
    if (run_.unalign > 0) parameters["unalign"] = std::to_string(run_.unalign);
  }

  void AddTimes(const NcclRow& row, const NcclTiming& timing, v1::CaseResult* result) const {
    const int ranks = run_.machines.gpus;
    const int batch = static_cast<int>(run_.iterations * run_.aggregate);
    const double algorithm = ComputedBandwidth(row, timing);
    // The text prints bandwidths of small messages as 0.00, so they are computed.
    const auto best = [](double printed, double computed) {
      return printed >= 1 ? printed : computed;
    };
    // nccl-tests reads the host's clock around all iterations.
    const auto add = [&](const std::string& metric, const std::string& unit, double value) {
      AddMeasurement(metric, unit, value, "host_clock", batch, result);
      result->mutable_measurements()->rbegin()->mutable_method()->set_warmup_iterations(
          run_.warmup_iterations);
    };
    if (ranks > 1) {  // A single rank has no bus bandwidth.
      add("bus_bandwidth", "GB/s",
          best(timing.bus_bandwidth, algorithm * BusFactor(*collective_, ranks)));
    }
    add("algorithm_bandwidth", "GB/s", best(timing.algorithm_bandwidth, algorithm));
    add("time", "s", timing.microseconds * 1e-6);
  }

  const NcclRun& run_;
  Imported imported_;
  const Collective* collective_ = nullptr;
  const ElementType* type_ = nullptr;  // Set by CheckRow.
};

}  // namespace

Result<Imported> ReadNcclTests(std::string_view text, const Origin& origin) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && text[first] == '{';
  ASSAY_ASSIGN_OR_RETURN(const NcclRun run, json ? ReadNcclJson(text) : ReadNcclText(text));
  ASSAY_ASSIGN_OR_RETURN(Imported imported, RunConverter(run).Convert());
  ASSAY_RETURN_IF_ERROR(Describe(run.machines, run.source, origin, &imported));
  return imported;
}

}  // namespace assay::imports
