#include "imports/nccl_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "imports/checked_text.h"

namespace assay::imports {
namespace {

// Of the way from a row of nccl-tests to a result: raised when it changes.
constexpr int kVersion = 1;

struct Collective {
  std::string_view program;
  std::string_view benchmark;
  bool reduces = false;
  bool rooted = false;
};
constexpr std::array<Collective, 9> kCollectives = {{
    {"all_gather_perf", "all_gather"},
    {"all_reduce_perf", "all_reduce", true},
    {"alltoall_perf", "all_to_all"},
    {"broadcast_perf", "broadcast", false, true},
    {"gather_perf", "gather", false, true},
    {"reduce_perf", "reduce", true, true},
    {"reduce_scatter_perf", "reduce_scatter", true},
    {"scatter_perf", "scatter", false, true},
    {"sendrecv_perf", "send_recv"},
}};

struct TypeWord {
  std::string_view theirs;
  std::string_view ours;
};
constexpr std::array<TypeWord, 14> kTypes = {{{"bfloat16", "bf16"},
                                              {"double", "fp64"},
                                              {"f8e4m3", "fp8_e4m3"},
                                              {"f8e5m2", "fp8_e5m2"},
                                              {"float", "fp32"},
                                              {"fp8_e4m3", "fp8_e4m3"},
                                              {"fp8_e5m2", "fp8_e5m2"},
                                              {"half", "fp16"},
                                              {"int32", "int32"},
                                              {"int64", "int64"},
                                              {"int8", "int8"},
                                              {"uint32", "uint32"},
                                              {"uint64", "uint64"},
                                              {"uint8", "uint8"}}};
constexpr std::array<std::string_view, 6> kOps = {"sum", "prod", "max", "min", "avg", "mulsum"};

std::string CollectiveNames() {
  std::string names;
  for (const Collective& one : kCollectives) {
    names += (names.empty() ? "" : ", ") + std::string(one.benchmark);
  }
  return names;
}

// By the program's name in the output ("broadcast_perf_mpi" is built with MPI), or else by
// the benchmark's name that the user gave.
Result<const Collective*> CollectiveOf(const NcclRun& run, const std::string& given) {
  std::string_view program = run.program;
  if (program.ends_with("_mpi")) program.remove_suffix(4);
  for (const Collective& one : kCollectives) {
    if (program.empty() ? one.benchmark == given : one.program == program) return &one;
  }
  if (!program.empty()) {
    return FaultAt(run.line, "the test " + Quoted(run.program) +
                                 " is none of Assay's collectives: " + CollectiveNames());
  }
  if (!given.empty()) {
    return InvalidArgument("--collective " + Quoted(given) + " is none of " + CollectiveNames());
  }
  return FaultAt(run.line, "the output does not name its test, as nccl-tests does since 2.17")
      .WithHint("say which it was: --collective all_reduce");
}

Result<std::string_view> TypeOf(const NcclRow& row) {
  for (const TypeWord& word : kTypes) {
    if (word.theirs == row.type) return word.ours;
  }
  return FaultAt(row.line, "type " + Quoted(row.type) + " is none of nccl-tests' types");
}

Status AddParameters(const NcclRun& run, const Collective& collective, const NcclRow& row,
                     bool in_place, v1::CaseResult* result) {
  auto& parameters = *result->mutable_parameters();
  ASSAY_ASSIGN_OR_RETURN(const std::string_view type, TypeOf(row));
  parameters["ranks"] = std::to_string(run.machines.gpus);
  parameters["nodes"] = std::to_string(std::max<size_t>(1, run.machines.hosts.size()));
  parameters["bytes"] = std::to_string(row.bytes);
  parameters["dtype"] = type;
  if (collective.reduces) {
    if (std::find(kOps.begin(), kOps.end(), row.op) == kOps.end()) {
      return FaultAt(row.line, "redop " + Quoted(row.op) + " is none of nccl-tests' reductions");
    }
    parameters["op"] = row.op;
  }
  if (collective.rooted) {
    if (row.root < 0 || row.root >= run.machines.gpus) {
      return FaultAt(row.line, "root " + std::to_string(row.root) + " is none of the " +
                                   std::to_string(run.machines.gpus) + " ranks");
    }
    parameters["root"] = std::to_string(row.root);
  }
  parameters["in_place"] = in_place ? "true" : "false";
  parameters["launch"] = run.graph ? "graph" : "stream";
  parameters["aggregate"] = std::to_string(run.aggregate);
  parameters["policy"] = "nccl_tests";
  if (run.blocking) parameters["blocking"] = "true";
  return Status::Ok();
}

void AddVerification(const NcclTiming& timing, v1::CaseResult* result) {
  if (!timing.wrong) {
    result->mutable_conditions()->add_flags("unverified");
    return;
  }
  v1::Verification* const verification = result->mutable_verification();
  verification->set_passed(*timing.wrong == 0);
  verification->set_reference("nccl-tests' own check");
  verification->set_error(*timing.wrong);
  verification->set_norm("wrong_elements");
}

void AddTimes(const NcclRun& run, const NcclTiming& timing, v1::CaseResult* result) {
  constexpr auto kHigher = v1::DIRECTION_HIGHER_IS_BETTER;
  const int batch = static_cast<int>(run.iterations * run.aggregate);
  // nccl-tests reads the host's clock around all iterations.
  AddMeasurement("bus_bandwidth", "GB/s", kHigher, timing.bus_bandwidth, "host_clock", batch,
                 result);
  AddMeasurement("algorithm_bandwidth", "GB/s", kHigher, timing.algorithm_bandwidth, "host_clock",
                 batch, result);
  AddMeasurement("time", "s", v1::DIRECTION_LOWER_IS_BETTER, timing.microseconds * 1e-6,
                 "host_clock", batch, result);
  for (v1::Measurement& measurement : *result->mutable_measurements()) {
    measurement.mutable_method()->set_warmup_iterations(run.warmup_iterations);
  }
}

Result<v1::CaseResult> ResultOf(const NcclRun& run, const Collective& collective,
                                const NcclRow& row, bool in_place) {
  const NcclTiming& timing = in_place ? row.in_place : row.out_of_place;
  v1::CaseResult result;
  result.set_benchmark(std::string(collective.benchmark));
  result.set_benchmark_version(kVersion);
  ASSAY_RETURN_IF_ERROR(AddParameters(run, collective, row, in_place, &result));
  AddVerification(timing, &result);
  if (timing.wrong.value_or(0) > 0) {
    result.set_outcome(v1::CASE_OUTCOME_FAILED);
    result.mutable_failure()->set_failure_class(v1::FAILURE_CLASS_JOB);
    result.mutable_failure()->set_reason("VERIFICATION_FAILED");
    result.mutable_failure()->set_message(
        "nccl-tests found " + std::to_string(std::llround(*timing.wrong)) + " wrong elements");
    return result;
  }
  result.set_outcome(v1::CASE_OUTCOME_OK);
  AddTimes(run, timing, &result);
  return result;
}

Status CheckSameMachines(const NcclRun& first, const NcclRun& run) {
  const bool same = first.source == run.source && first.machines.gpus == run.machines.gpus &&
                    first.machines.gpu_names == run.machines.gpu_names &&
                    first.machines.hosts == run.machines.hosts &&
                    first.machines.nccl == run.machines.nccl;
  if (same) return Status::Ok();
  return FaultAt(run.line,
                 "this run has other ranks, GPUs or versions than the file's first; import runs "
                 "of different machines as files of their own");
}

}  // namespace

Status CheckSummary(const NcclRun& run, int digits) {
  if (run.rows.empty()) return FaultAt(run.line, "this run has no rows of results");
  double sum = 0;
  bool wrong = false;
  for (const NcclRow& row : run.rows) {
    sum += row.out_of_place.bus_bandwidth + row.in_place.bus_bandwidth;
    wrong |= row.out_of_place.wrong.value_or(0) > 0 || row.in_place.wrong.value_or(0) > 0;
  }
  const double mean = sum / (2.0 * static_cast<double>(run.rows.size()));
  // Half of the rows' last digit each, and six digits of the summary (%g).
  const double tolerance =
      0.51 * std::pow(10, -digits) + 2e-4 * std::max(mean, run.average_bus_bandwidth);
  if (std::abs(mean - run.average_bus_bandwidth) > tolerance) {
    return FaultAt(run.line, "the mean of this run's bus bandwidths is " + std::to_string(mean) +
                                 " GB/s, and its summary says " +
                                 std::to_string(run.average_bus_bandwidth) +
                                 ": rows are missing or were changed");
  }
  if (run.out_of_bounds > 0 && !wrong) {
    return FaultAt(run.line, "this run's summary says that " + std::to_string(run.out_of_bounds) +
                                 " values were out of bounds, and no row does");
  }
  return Status::Ok();
}

Result<Imported> ResultsOf(const std::vector<NcclRun>& runs, const Origin& origin) {
  if (runs.empty()) return InvalidArgument("the file has no run of nccl-tests", "BAD_FILE");
  Imported imported;
  for (const NcclRun& run : runs) {
    ASSAY_RETURN_IF_ERROR(CheckSameMachines(runs.front(), run));
    ASSAY_ASSIGN_OR_RETURN(const Collective* collective, CollectiveOf(run, origin.collective));
    for (const NcclRow& row : run.rows) {
      if (imported.results.size() + 2 > kMaxResults) {
        return FaultAt(row.line, "the file has more than " + std::to_string(kMaxResults) +
                                     " results, the most that an import takes");
      }
      for (const bool in_place : {false, true}) {
        ASSAY_ASSIGN_OR_RETURN(v1::CaseResult result, ResultOf(run, *collective, row, in_place));
        imported.results.push_back(std::move(result));
      }
    }
  }
  ASSAY_RETURN_IF_ERROR(Describe(runs.front().machines, runs.front().source, origin, &imported));
  return imported;
}

}  // namespace assay::imports
