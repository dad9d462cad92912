// The JSON of nccl-tests' `-J` (src/util.cu of 2.17 and 2.18). Its `env` is the whole
// environment of the process and its `args` the command line: of both, the name of the
// program alone is read.
#include <algorithm>

#include "cli/imports/checked_json.h"
#include "cli/imports/checked_text.h"
#include "cli/imports/launcher.h"
#include "cli/imports/nccl_forms.h"

namespace assay::imports {
namespace {

constexpr int64_t kNewestVersion = 2;
constexpr int64_t kMaxRanks = 4096;
constexpr int64_t kMaxIterations = 30'000;

Status Fault(std::string message) { return InvalidArgument(std::move(message), "BAD_FILE"); }

// "all_reduce_perf" of "./build/all_reduce_perf".
Result<std::string> ProgramOf(const Json& root) {
  ASSAY_ASSIGN_OR_RETURN(const Json* args, JsonArray(root, "args", "the file"));
  if (args->empty() || !args->front().is_string()) {
    return Fault("`args` of the file does not begin with the program's path");
  }
  const auto& path = args->front().get_ref<const std::string&>();
  return path.substr(path.rfind('/') + 1);
}

// Without zone, and so of no use but to hold the user's --time against.
std::optional<int64_t> ClockOf(const Json& root, const std::string& name) {
  const auto found = root.find(name);
  if (found == root.end() || !found->is_string()) return std::nullopt;
  return ClockSeconds(found->get_ref<const std::string&>());
}

Result<int64_t> SmallNumber(const Json& config, const std::string& name, int64_t least) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t number, JsonInteger(config, name, "`config`", least));
  if (number > kMaxIterations) {
    return Fault("`" + name + "` of `config` is more than " + std::to_string(kMaxIterations));
  }
  return number;
}

Status ReadConfig(const Json& root, NcclRun* run) {
  ASSAY_ASSIGN_OR_RETURN(const Json* config, MemberOf(root, "config", "the file"));
  ASSAY_ASSIGN_OR_RETURN(run->warmup_iterations, SmallNumber(*config, "warmup_iters", 0));
  ASSAY_ASSIGN_OR_RETURN(run->iterations, SmallNumber(*config, "iterations", 1));
  ASSAY_ASSIGN_OR_RETURN(run->aggregate, SmallNumber(*config, "aggregated_iterations", 1));
  ASSAY_ASSIGN_OR_RETURN(const int64_t graphs, SmallNumber(*config, "graph", 0));
  run->graph = graphs > 0;
  if (config->contains("validation")) {
    ASSAY_ASSIGN_OR_RETURN(const int64_t checks, SmallNumber(*config, "validation", 0));
    run->checked = checks > 0;
  }
  ASSAY_ASSIGN_OR_RETURN(const Json* blocking,
                         MemberOf(*config, "blocking_collectives", "`config`"));
  // nccl-tests writes the text, and -z 1 and -z 2 alike.
  if (*blocking == true || *blocking == "true") run->blocking = "true";
  ASSAY_ASSIGN_OR_RETURN(const int64_t threads, SmallNumber(*config, "nthreads", 1));
  ASSAY_ASSIGN_OR_RETURN(const int64_t gpus, SmallNumber(*config, "ngpus", 1));
  // One entry a process, of its first rank alone.
  ASSAY_ASSIGN_OR_RETURN(const Json* devices, JsonArray(*config, "devices", "`config`"));
  const int64_t ranks = threads * gpus * static_cast<int64_t>(devices->size());
  if (ranks < 1 || ranks > kMaxRanks) {
    return Fault("`config` tells of " + std::to_string(ranks) + " ranks; expected 1 to " +
                 std::to_string(kMaxRanks));
  }
  run->machines.gpus = static_cast<int>(ranks);
  for (size_t i = 0; i < devices->size(); ++i) {
    const std::string where = "device " + std::to_string(i) + " of `config`";
    const Json& device = (*devices)[i];
    ASSAY_ASSIGN_OR_RETURN(const std::string name, JsonText(device, "device_info", where));
    ASSAY_ASSIGN_OR_RETURN(const std::string host, JsonText(device, "hostname", where));
    ASSAY_ASSIGN_OR_RETURN(const int64_t rank, JsonInteger(device, "rank", where));
    const int64_t expected = threads * gpus * static_cast<int64_t>(i);
    if (rank != expected) {
      return Fault(where + " is rank " + std::to_string(rank) + ", and with `nthreads` " +
                   std::to_string(threads) + " and `ngpus` " + std::to_string(gpus) +
                   " a process begins with rank " + std::to_string(expected) +
                   ": a device is missing or was changed");
    }
    ASSAY_ASSIGN_OR_RETURN(const int64_t group, JsonInteger(device, "group", where));
    if (group != 0) {
      return Fault("the ranks are split into groups (NCCL_TESTS_SPLIT); expected one group");
    }
    run->machines.gpu_names.insert(name);
    run->machines.hosts.insert(host);
  }
  return Status::Ok();
}

Result<NcclTiming> ReadTiming(const Json& row, const std::string& name, const std::string& where) {
  ASSAY_ASSIGN_OR_RETURN(const Json* found, MemberOf(row, name, where));
  const std::string place = "`" + name + "` of " + where;
  if (found->is_object() && found->contains("cpu_time")) {
    return Fault(place + " has the host's times (-C 1); expected `time`");
  }
  NcclTiming timing;
  constexpr double kError = 0.5e-6;  // Written with six decimals.
  ASSAY_ASSIGN_OR_RETURN(const double time, JsonNumber(*found, "time", place));
  ASSAY_ASSIGN_OR_RETURN(const double algorithm, JsonNumber(*found, "alg_bw", place));
  ASSAY_ASSIGN_OR_RETURN(const double bus, JsonNumber(*found, "bus_bw", place));
  timing.microseconds = {time, kError};
  timing.algorithm_bandwidth = {algorithm, kError};
  timing.bus_bandwidth = {bus, kError};
  ASSAY_ASSIGN_OR_RETURN(const Json* wrong, MemberOf(*found, "nwrong", place));
  if (!wrong->is_null()) {
    ASSAY_ASSIGN_OR_RETURN(timing.wrong, ToNumber(*wrong, "`nwrong` of " + place));
  }
  return timing;
}

Result<NcclRow> ReadRow(const Json& json, size_t position) {
  const std::string where = "result " + std::to_string(position);
  NcclRow row;
  row.where = where;
  ASSAY_ASSIGN_OR_RETURN(row.bytes, JsonInteger(json, "size", where));
  ASSAY_ASSIGN_OR_RETURN(row.count, JsonInteger(json, "count", where));
  ASSAY_ASSIGN_OR_RETURN(row.type, JsonText(json, "type", where));
  ASSAY_ASSIGN_OR_RETURN(row.op, JsonText(json, "redop", where));
  ASSAY_ASSIGN_OR_RETURN(row.root, JsonInteger(json, "root", where, -1));
  ASSAY_ASSIGN_OR_RETURN(row.out_of_place, ReadTiming(json, "out_of_place", where));
  ASSAY_ASSIGN_OR_RETURN(row.in_place, ReadTiming(json, "in_place", where));
  return row;
}

Status ReadSummary(const Json& root, NcclRun* run) {
  // Misspelled by 2.17.
  const bool old = root.contains("average_bus_bandwidith");
  const std::string name = old ? "average_bus_bandwidith" : "average_bus_bandwidth";
  if (!root.contains(name) || !root.contains("out_of_bounds")) {
    return Fault("the file has no summary (`average_bus_bandwidth`): the run was cut short");
  }
  const Json& average = root[name];
  const bool old_member = average.is_object() && average.contains("bandwidith");
  ASSAY_ASSIGN_OR_RETURN(
      run->average_bus_bandwidth,
      JsonNumber(average, old_member ? "bandwidith" : "bandwidth", "`" + name + "`"));
  ASSAY_ASSIGN_OR_RETURN(run->out_of_bounds,
                         JsonInteger(root["out_of_bounds"], "count", "`out_of_bounds`"));
  return CheckSummary(*run);
}

}  // namespace

Result<std::vector<NcclRun>> ReadNcclJson(std::string_view text) {
  ASSAY_ASSIGN_OR_RETURN(const Json root, ParseJson(text));
  if (root.contains("nvbandwidth")) return OutputOf("the file", "nvbandwidth");
  ASSAY_ASSIGN_OR_RETURN(const int64_t version, JsonInteger(root, "version", "the file", 1));
  if (version > kNewestVersion) {
    return Fault("`version` of the file is " + std::to_string(version) + "; expected 1 to " +
                 std::to_string(kNewestVersion));
  }
  NcclRun run;
  run.line = 1;
  // The JSON numbers its own form and does not say which nccl-tests wrote it.
  run.source = "nccl-tests, JSON version " + std::to_string(version);
  ASSAY_ASSIGN_OR_RETURN(run.program, ProgramOf(root));
  ASSAY_ASSIGN_OR_RETURN(const int64_t nccl,
                         JsonInteger(root, "nccl_version", "the file", kLeastVersionCode));
  if (nccl > kMostVersionCode) {
    return Fault("`nccl_version` of the file is " + std::to_string(nccl) + "; expected " +
                 std::to_string(kLeastVersionCode) + " to " + std::to_string(kMostVersionCode));
  }
  run.machines.nccl = NcclVersionText(nccl);
  run.machines.AddClock(ClockOf(root, "start_time"));
  run.machines.AddClock(ClockOf(root, "end_time"));
  ASSAY_RETURN_IF_ERROR(ReadConfig(root, &run));
  ASSAY_ASSIGN_OR_RETURN(const Json* rows, JsonArray(root, "results", "the file"));
  if (rows->size() > kMaxResults) {
    return Fault("`results` of the file has more than " + std::to_string(kMaxResults) + " rows");
  }
  for (size_t i = 0; i < rows->size(); ++i) {
    ASSAY_ASSIGN_OR_RETURN(NcclRow row, ReadRow((*rows)[i], i + 1));
    run.rows.push_back(std::move(row));
  }
  ASSAY_RETURN_IF_ERROR(ReadSummary(root, &run));
  return std::vector<NcclRun>{std::move(run)};
}

}  // namespace assay::imports
