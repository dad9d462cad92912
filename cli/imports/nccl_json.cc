// Reads the JSON that nccl-tests writes with the option -J (see src/util.cu of versions 2.17 and
// 2.18). The file also contains the environment variables and the command line of the process, but
// this parser uses only the program's name from these.
#include "cli/imports/nccl_run.h"

namespace assay::imports {
namespace {

constexpr int64_t kNewestVersion = 2;

NcclTiming ReadTiming(const JsonValue& json) {
  NcclTiming timing;
  timing.microseconds = json.Number("time");  // With -C 1 it is "cpu_time", which is refused.
  timing.algorithm_bandwidth = json.Number("alg_bw");
  timing.bus_bandwidth = json.Number("bus_bw");
  const JsonValue wrong = json.Member("nwrong");
  if (!wrong.IsNull()) timing.wrong = wrong.Number();
  return timing;
}

NcclRow ReadRow(const JsonValue& json) {
  NcclRow row;
  row.where = json.path();
  row.bytes = json.Integer("size");
  row.count = json.Integer("count");
  row.type = json.Text("type");
  row.op = json.Text("redop");
  row.root = json.Integer("root", -1);
  row.out_of_place = ReadTiming(json.Member("out_of_place"));
  row.in_place = ReadTiming(json.Member("in_place"));
  return row;
}

void ReadConfig(const JsonValue& config, NcclRun& run) {
  run.warmup_iterations = config.Integer("warmup_iters", 0, kMaxIterations);
  run.iterations = config.Integer("iterations", 1, kMaxIterations);
  run.aggregate = config.Integer("aggregated_iterations", 1, kMaxIterations);
  run.graph = config.Integer("graph", 0, kMaxIterations) > 0;
  // The JSON contains only whether -z was given, not its value.
  if (config.Text("blocking_collectives") == "true") run.blocking = "true";
  // `devices` has one entry per process, for its first rank only.
  const int64_t ranks =
      config.Integer("nthreads", 1, kMaxRanks) * config.Integer("ngpus", 1, kMaxRanks);
  for (const JsonValue& device : config.Array("devices")) {
    if (device.Integer("rank") != run.machines.gpus) {
      device.Fail("expected rank " + std::to_string(run.machines.gpus) + " here");
    }
    if (device.Integer("group") != 0) device.Fail("ranks split into groups are not supported");
    run.machines.gpus += static_cast<int>(ranks);
    run.machines.gpu_names.insert(device.Text("device_info"));
    run.machines.hosts.insert(device.Text("hostname"));
    if (run.machines.gpus > kMaxRanks) return device.Fail("more than 4096 ranks");
  }
  if (run.machines.gpus == 0) config.Fail("no devices");
}

void ReadRun(const JsonValue& root, NcclRun& run) {
  // The JSON has the version of its own format, but not that of nccl-tests.
  run.source =
      "nccl-tests, JSON version " + std::to_string(root.Integer("version", 1, kNewestVersion));
  const std::vector<JsonValue> args = root.Array("args");
  if (args.empty()) return root.Fail("args: must begin with the program");
  const std::string path = args[0].Text();
  run.program = path.substr(path.rfind('/') + 1);
  run.machines.nccl =
      NcclVersionText(root.Integer("nccl_version", kLeastVersionCode, kMostVersionCode));
  ReadConfig(root.Member("config"), run);
  for (const JsonValue& row : root.Array("results")) run.rows.push_back(ReadRow(row));
  // Version 1 misspells these two names.
  const bool misspelled = root.Has("average_bus_bandwidith");
  const JsonValue average =
      root.Member(misspelled ? "average_bus_bandwidith" : "average_bus_bandwidth");
  run.average_bus_bandwidth =
      average.Number(average.Has("bandwidith") ? "bandwidith" : "bandwidth");
  run.out_of_bounds = root.Member("out_of_bounds").Integer("count");
}

}  // namespace

Result<NcclRun> ReadNcclJson(std::string_view text) {
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(text));
  Status status;
  NcclRun run;
  ReadRun(JsonValue(json, status), run);
  if (!status.ok()) return status;
  return run;
}

}  // namespace assay::imports
