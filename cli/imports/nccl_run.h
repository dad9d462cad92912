// One run of an nccl-tests program as its output tells it, whatever the output's form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/imports/checked_text.h"
#include "cli/imports/imports.h"
#include "cli/imports/records.h"

namespace assay::imports {

// In or out of place.
struct NcclTiming {
  Printed microseconds;
  Printed algorithm_bandwidth;  // GB/s.
  Printed bus_bandwidth;        // GB/s.
  std::optional<double> wrong;  // Elements; none if it was not checked.
};

struct NcclRow {
  std::string where;  // "line 17" of a text, "result 3" of a JSON.
  int64_t bytes = 0;
  int64_t count = 0;  // Elements, as the program counts them.
  std::string type;   // "float".
  std::string op;     // "sum"; "none" without reduction.
  int64_t root = -1;
  NcclTiming out_of_place;
  NcclTiming in_place;
};

struct NcclRun {
  size_t line = 0;      // Where it begins.
  std::string program;  // "all_reduce_perf"; empty if the output does not say.
  std::string source;   // "nccl-tests 2.17.6".
  Machines machines;
  // Of a text, whose lines may be lost: how many ranks each process has. 0 of other forms.
  int64_t ranks_a_process = 0;
  int64_t warmup_iterations = 0;
  int64_t iterations = 1;
  int64_t aggregate = 1;
  bool graph = false;
  bool checked = true;   // False if the settings say that nobody looked for wrong elements (-c 0).
  std::string blocking;  // "true", or "no_barrier" (-z 2); empty without -z.
  int64_t unalign = 0;   // -u.
  std::vector<NcclRow> rows;
  double average_bus_bandwidth = 0;
  int64_t out_of_bounds = 0;
};

// INVALID_ARGUMENT unless the run's own summary agrees with its rows: what was lost or
// changed on the way shows there.
Status CheckSummary(const NcclRun& run);

// The results of all runs. INVALID_ARGUMENT if the runs are not of the same machines or a
// test is not one of Assay's collectives.
Result<Imported> ResultsOf(const std::vector<NcclRun>& runs, const Origin& origin);

}  // namespace assay::imports
