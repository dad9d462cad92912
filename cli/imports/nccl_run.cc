#include "cli/imports/nccl_run.h"

#include <algorithm>
#include <cmath>

#include "cli/imports/checked_text.h"
#include "cli/imports/nccl_row.h"
#include "cli/imports/nccl_words.h"

namespace assay::imports {
namespace {

// Of the way from a row of nccl-tests to a result: raised when it changes.
constexpr int kVersion = 3;

Status AddParameters(const NcclRun& run, const Collective& collective, const NcclRow& row,
                     bool in_place, v1::CaseResult* result) {
  auto& parameters = *result->mutable_parameters();
  ASSAY_ASSIGN_OR_RETURN(const ElementType* type, TypeOf(row));
  parameters["ranks"] = std::to_string(run.machines.gpus);
  parameters["nodes"] = std::to_string(std::max<size_t>(1, run.machines.hosts.size()));
  parameters["bytes"] = std::to_string(row.bytes);
  parameters["dtype"] = type->ours;
  if (collective.reduces) {
    if (!IsReduction(row.op)) {
      return FaultAt(row.where, "redop " + Quoted(row.op) + " is no reduction, and the test is " +
                                    std::string(collective.benchmark));
    }
    parameters["op"] = row.op;
  }
  if (collective.rooted) {
    if (row.root < 0 || row.root >= run.machines.gpus) {
      return FaultAt(row.where, "root " + std::to_string(row.root) + " is none of the " +
                                    std::to_string(run.machines.gpus) + " ranks");
    }
    parameters["root"] = std::to_string(row.root);
  }
  parameters["in_place"] = in_place ? "true" : "false";
  parameters["launch"] = run.graph ? "graph" : "stream";
  parameters["aggregate"] = std::to_string(run.aggregate);
  parameters["policy"] = "nccl_tests";
  if (!run.blocking.empty()) parameters["blocking"] = run.blocking;
  if (run.unalign > 0) parameters["unalign"] = std::to_string(run.unalign);
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

void AddTimes(const NcclRun& run, const NcclBandwidths& bandwidths, const NcclTiming& timing,
              v1::CaseResult* result) {
  constexpr auto kHigher = v1::DIRECTION_HIGHER_IS_BETTER;
  const int batch = static_cast<int>(run.iterations * run.aggregate);
  // nccl-tests reads the host's clock around all iterations.
  if (bandwidths.bus) {
    AddMeasurement("bus_bandwidth", "GB/s", kHigher, *bandwidths.bus, "host_clock", batch, result);
  }
  if (bandwidths.algorithm) {
    AddMeasurement("algorithm_bandwidth", "GB/s", kHigher, *bandwidths.algorithm, "host_clock",
                   batch, result);
  }
  AddMeasurement("time", "s", v1::DIRECTION_LOWER_IS_BETTER, timing.microseconds.value * 1e-6,
                 "host_clock", batch, result);
  for (v1::Measurement& measurement : *result->mutable_measurements()) {
    measurement.mutable_method()->set_warmup_iterations(run.warmup_iterations);
  }
}

Result<v1::CaseResult> ResultOf(const NcclRun& run, const Collective& collective,
                                const NcclRow& row, bool in_place, int* computed) {
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
  const NcclBandwidths bandwidths = BandwidthsOf(row, timing, collective, run.machines.gpus);
  *computed += bandwidths.computed ? 1 : 0;
  AddTimes(run, bandwidths, timing, &result);
  return result;
}

// What the settings and the ranks say of any row.
Status CheckAgainstRun(const NcclRun& run, const NcclRow& row) {
  if (row.root >= run.machines.gpus) {
    return FaultAt(row.where, "root is " + std::to_string(row.root) + " of " +
                                  std::to_string(run.machines.gpus) + " ranks; expected -1 to " +
                                  std::to_string(run.machines.gpus - 1));
  }
  if (!run.checked && (row.out_of_place.wrong || row.in_place.wrong)) {
    return FaultAt(row.where,
                   "the row counts wrong elements (#wrong), and the run's settings say that "
                   "nothing was checked (validation: 0); expected N/A");
  }
  return Status::Ok();
}

// Whether the columns tell the number of ranks: if the lines of the last process are lost, all
// rows contradict what is left. They do not where bandwidths and counts are the same for any
// number, or too coarse.
bool ConfirmsRanks(const NcclRun& run, const Collective& collective) {
  const auto more = static_cast<int>(run.machines.gpus + run.ranks_a_process);
  return run.ranks_a_process == 0 ||
         std::any_of(run.rows.begin(), run.rows.end(),
                     [&](const NcclRow& row) { return !CheckRow(row, collective, more).ok(); });
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

Status CheckSummary(const NcclRun& run) {
  if (run.rows.empty()) return FaultAt(run.line, "this run has no rows of results");
  double sum = 0;
  double error = 0;
  bool wrong = false;
  for (const NcclRow& row : run.rows) {
    for (const NcclTiming* timing : {&row.out_of_place, &row.in_place}) {
      sum += timing->bus_bandwidth.value;
      error += timing->bus_bandwidth.error;
    }
    wrong |= row.out_of_place.wrong.value_or(0) > 0 || row.in_place.wrong.value_or(0) > 0;
  }
  const double numbers = 2.0 * static_cast<double>(run.rows.size());
  const double mean = sum / numbers;
  // Half of the rows' last digit each, and six digits of the summary (%g).
  const double tolerance =
      1.02 * error / numbers + 2e-4 * std::max(mean, run.average_bus_bandwidth);
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
  if (run.out_of_bounds == 0 && wrong) {
    return FaultAt(run.line,
                   "a row of this run has wrong elements (#wrong), and its summary says that no "
                   "values were out of bounds: a row or the summary was changed");
  }
  return Status::Ok();
}

Result<Imported> ResultsOf(const std::vector<NcclRun>& runs, const Origin& origin) {
  if (runs.empty()) return InvalidArgument("the file has no run of nccl-tests", "BAD_FILE");
  Imported imported;
  Machines machines = runs.front().machines;
  int computed = 0;
  int empty = 0;
  bool ranks_confirmed = false;
  for (const NcclRun& run : runs) {
    ASSAY_RETURN_IF_ERROR(CheckSameMachines(runs.front(), run));
    machines.AddClock(run.machines.began);
    machines.AddClock(run.machines.ended);
    ASSAY_ASSIGN_OR_RETURN(const Collective* collective, CollectiveOf(run, origin.collective));
    ranks_confirmed = ranks_confirmed || ConfirmsRanks(run, *collective);
    for (const NcclRow& row : run.rows) {
      ASSAY_RETURN_IF_ERROR(CheckAgainstRun(run, row));
      ASSAY_RETURN_IF_ERROR(CheckRow(row, *collective, run.machines.gpus));
      empty += row.bytes == 0 ? 1 : 0;
      if (row.bytes == 0) continue;
      if (imported.results.size() + 2 > kMaxResults) {
        return FaultAt(row.where, "the file has more than " + std::to_string(kMaxResults) +
                                      " results, the most that an import takes");
      }
      for (const bool in_place : {false, true}) {
        ASSAY_ASSIGN_OR_RETURN(v1::CaseResult result,
                               ResultOf(run, *collective, row, in_place, &computed));
        imported.results.push_back(std::move(result));
      }
    }
  }
  if (imported.results.empty()) {
    return InvalidArgument(
        "no row of the file moves a byte: its sizes are below one element a rank", "BAD_FILE");
  }
  if (empty > 0) {
    imported.notes.push_back("left out, as they move no bytes (sizes below one element a rank): " +
                             std::to_string(empty) + (empty == 1 ? " row" : " rows"));
  }
  if (computed > 0) {
    imported.notes.push_back(
        "bandwidths computed from bytes and time, as they are printed with "
        "fewer than three digits: of " +
        std::to_string(computed) + (computed == 1 ? " result" : " results"));
  }
  if (!ranks_confirmed) {
    imported.notes.push_back(
        "the number of ranks, " + std::to_string(machines.gpus) +
        ", is that of the \"# Rank\" lines; the rows would be the same on more, "
        "so check that the last of these lines is there");
  }
  ASSAY_RETURN_IF_ERROR(Describe(machines, runs.front().source, origin, &imported));
  return imported;
}

}  // namespace assay::imports
