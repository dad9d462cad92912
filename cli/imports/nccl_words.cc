#include "cli/imports/nccl_words.h"

#include <algorithm>
#include <array>

#include "cli/imports/checked_text.h"

namespace assay::imports {
namespace {

constexpr std::array<Collective, 9> kCollectives = {{
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
}};

constexpr std::array<ElementType, 14> kTypes = {{{"bfloat16", "bf16", 2},
                                                 {"double", "fp64", 8},
                                                 {"f8e4m3", "fp8_e4m3", 1},
                                                 {"f8e5m2", "fp8_e5m2", 1},
                                                 {"float", "fp32", 4},
                                                 {"fp8_e4m3", "fp8_e4m3", 1},
                                                 {"fp8_e5m2", "fp8_e5m2", 1},
                                                 {"half", "fp16", 2},
                                                 {"int32", "int32", 4},
                                                 {"int64", "int64", 8},
                                                 {"int8", "int8", 1},
                                                 {"uint32", "uint32", 4},
                                                 {"uint64", "uint64", 8},
                                                 {"uint8", "uint8", 1}}};
constexpr std::array<std::string_view, 6> kOps = {"sum", "prod", "max", "min", "avg", "mulsum"};

std::string CollectiveNames() {
  std::string names;
  for (const Collective& one : kCollectives) {
    names += (names.empty() ? "" : ", ") + std::string(one.benchmark);
  }
  return names;
}

}  // namespace

Result<const Collective*> CollectiveOf(const NcclRun& run, const std::string& given) {
  const auto named = [&](std::string_view Collective::*name, std::string_view word) {
    const auto* const found = std::find_if(kCollectives.begin(), kCollectives.end(),
                                           [&](const auto& one) { return one.*name == word; });
    return found == kCollectives.end() ? nullptr : found;
  };
  const Collective* const wanted = named(&Collective::benchmark, given);
  if (!given.empty() && wanted == nullptr) {
    return InvalidArgument("--collective " + Quoted(given) + " is none of " + CollectiveNames());
  }
  if (run.program.empty()) {
    if (wanted != nullptr) return wanted;
    return FaultAt(run.line, "the output does not name its test, as nccl-tests does since 2.17")
        .WithHint("say which it was: --collective all_reduce");
  }
  std::string_view program = run.program;
  if (program.ends_with("_mpi")) program.remove_suffix(4);
  const Collective* const told = named(&Collective::program, program);
  if (told == nullptr) {
    return FaultAt(run.line, "the test " + Quoted(run.program) +
                                 " is none of Assay's collectives: " + CollectiveNames());
  }
  if (wanted != nullptr && wanted != told) {
    return FaultAt(run.line, "the output is of " + Quoted(run.program) +
                                 ", and --collective says " + std::string(wanted->benchmark))
        .WithHint("leave --collective out: the file says what it is of");
  }
  return told;
}

Result<const ElementType*> TypeOf(const NcclRow& row) {
  for (const ElementType& type : kTypes) {
    if (type.theirs == row.type) return &type;
  }
  return FaultAt(row.where, "type " + Quoted(row.type) + " is none of nccl-tests' types");
}

bool IsReduction(std::string_view word) {
  return std::find(kOps.begin(), kOps.end(), word) != kOps.end();
}

double BusFactor(const Collective& collective, int ranks) {
  if (collective.passes == 0) return 1;
  return static_cast<double>(collective.passes) * (ranks - 1) / ranks;
}

}  // namespace assay::imports
