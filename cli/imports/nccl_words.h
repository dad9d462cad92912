// The words of nccl-tests: its programs and how each of them counts bytes, its types and
// reductions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/status.h"
#include "cli/imports/nccl_run.h"

namespace assay::imports {

struct Collective {
  std::string_view program;
  std::string_view benchmark;
  bool reduces = false;
  bool rooted = false;
  // `count` is one rank's share of `size`, not the whole.
  bool shared = false;
  // busbw is algbw times passes (n - 1) / n on n ranks; 0 passes: the same as algbw
  // (nccl-tests' doc/PERFORMANCE.md, and getBw of each program).
  int passes = 0;
};

// By the program's name in the output ("broadcast_perf_mpi" is built with MPI), or else by
// the benchmark's name that the user gave, which must not contradict it. Lives for ever.
Result<const Collective*> CollectiveOf(const NcclRun& run, const std::string& given);

struct ElementType {
  std::string_view theirs;  // "float"
  std::string_view ours;    // "fp32"
  int bytes = 0;
};

// Lives for ever.
Result<const ElementType*> TypeOf(const NcclRow& row);

// True for "sum" and the other reductions.
bool IsReduction(std::string_view word);

// busbw / algbw on `ranks` ranks.
double BusFactor(const Collective& collective, int ranks);

}  // namespace assay::imports
