// One run of an nccl-tests program, read from its text or its JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/imports/checked_input.h"
#include "cli/imports/records.h"
#include "common/status.h"

namespace assay::imports {

// Limits on the numbers in a file. With these, products of iteration counts fit 32 bits.
inline constexpr int64_t kMaxRanks = 4096;
inline constexpr int64_t kMaxIterations = 30'000;

struct NcclTiming {
  double microseconds = 0;
  double algorithm_bandwidth = 0;  // GB/s.
  double bus_bandwidth = 0;        // GB/s.
  std::optional<double> wrong;     // Wrong elements; absent if they were not checked.
};

struct NcclRow {
  std::string where;  // "line 17" or "results[3]".
  int64_t bytes = 0;
  int64_t count = 0;  // Elements, as the program counts them.
  std::string type;   // "float".
  std::string op;     // "sum"; "none" without reduction.
  int64_t root = -1;
  NcclTiming out_of_place;
  NcclTiming in_place;
};

struct NcclRun {
  std::string program;  // "all_reduce_perf".
  std::string source;   // "nccl-tests 2.17.6".
  Machines machines;
  int64_t warmup_iterations = 0;
  int64_t iterations = 1;
  int64_t aggregate = 1;
  bool graph = false;
  std::string blocking;  // "true", or "no_barrier" (-z 2); empty without -z.
  int64_t unalign = 0;   // -u.
  std::vector<NcclRow> rows;
  // The program's own summary, to detect lost or changed rows.
  double average_bus_bandwidth = 0;
  int64_t out_of_bounds = 0;
};

Result<NcclRun> ReadNcclText(std::string_view text);
Result<NcclRun> ReadNcclJson(std::string_view text);

}  // namespace assay::imports
