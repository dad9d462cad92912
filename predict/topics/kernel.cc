// The topics occupancy, amdahl, overlap and fusion, which are calculations about GPU kernels. Also
// lists the topics of all kernel_*.cc files.
#include "predict/topics/kernel.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "common/text.h"
#include "predict/step.h"

namespace assay::predict {

Status NeedInput(const Arguments& arguments, const std::string& name, const std::string& why,
                 const std::string& remedy) {
  if (arguments.Has(name)) return Status::Ok();
  return Refuse(name, "is required " + why, remedy);
}

Result<Figure> FindBandwidth(const Arguments& arguments) {
  const Hardware& gpu = arguments.Gpu();
  if (gpu.memory_bandwidth) return *gpu.memory_bandwidth;
  if (!arguments.Has("gpu")) {
    return Refuse("gpu", "is required unless bandwidth is given", "such as gpu=\"H100 SXM\"");
  }
  return Refuse("bandwidth", "the memory bandwidth of " + gpu.name + " is not known",
                "give it, such as 3.35TB/s");
}

Result<Roof> FindRoof(const Arguments& arguments, const std::string& dtype) {
  const Hardware& gpu = arguments.Gpu();
  if (!arguments.Has("gpu") && !(arguments.Has("peak") && arguments.Has("bandwidth"))) {
    return Refuse("gpu", "is required unless peak and bandwidth are given",
                  "such as gpu=\"H100 SXM\", or peak=989TFLOP/s bandwidth=3.35TB/s");
  }
  const Result<Figure> peak = gpu.Peak(dtype);
  if (!peak.ok()) return Refuse("peak", peak.status().message(), peak.status().hint());
  ASSAY_ASSIGN_OR_RETURN(const Figure bandwidth, FindBandwidth(arguments));
  return Roof{*peak, bandwidth};
}

namespace {

// Limits of one streaming multiprocessor (SM) by compute capability, from the CUDA C++ Programming
// Guide and arch_traits.h in NVIDIA's CCCL. Omits limits common to all GPUs, such as 65,536
// registers per SM and 1,024 threads per block.
struct SmLimits {
  const char* capability;
  double warps;
  double blocks;
  double shared_kib;          // Of an SM.
  double reserved_kib;        // By the system, per block.
  double shared_granularity;  // In bytes.
};

constexpr SmLimits kSmLimits[] = {
    {"7.0", 64, 32, 96, 0, 256},   {"7.5", 32, 16, 64, 0, 256},   {"8.0", 64, 32, 164, 1, 128},
    {"8.6", 48, 16, 100, 1, 128},  {"8.7", 48, 16, 164, 1, 128},  {"8.9", 48, 24, 100, 1, 128},
    {"9.0", 64, 32, 228, 1, 128},  {"10.0", 64, 32, 228, 1, 128}, {"10.3", 64, 32, 228, 1, 128},
    {"11.0", 48, 24, 228, 1, 128}, {"12.0", 48, 24, 100, 1, 128}};

constexpr double kSmRegisters = 65536;
constexpr double kSmPartitions = 4;
constexpr double kMaxThreadRegisters = 255;
constexpr double kMaxBlockThreads = 1024;

// The compute capability of GPUs whose sheet name begins with this text.
constexpr std::pair<const char*, const char*> kCapabilities[] = {
    {"V100", "7.0"},         {"T4", "7.5"},          {"A100", "8.0"},
    {"A30", "8.0"},          {"A10", "8.6"},         {"RTX A6000", "8.6"},
    {"RTX 30", "8.6"},       {"Jetson Orin", "8.7"}, {"Jetson AGX", "8.7"},
    {"L4", "8.9"},           {"RTX 40", "8.9"},      {"RTX 6000 Ada", "8.9"},
    {"H100", "9.0"},         {"H200", "9.0"},        {"GH200", "9.0"},
    {"B200", "10.0"},        {"GB200", "10.0"},      {"B300", "10.3"},
    {"Jetson Thor", "11.0"}, {"RTX 50", "12.0"},     {"RTX PRO 6000 Blackwell", "12.0"}};

const SmLimits* LimitsOf(const std::string& capability) {
  const auto* const found =
      std::find_if(std::begin(kSmLimits), std::end(kSmLimits),
                   [&](const SmLimits& limits) { return capability == limits.capability; });
  return found == std::end(kSmLimits) ? nullptr : found;
}

Result<const SmLimits*> FindSmLimits(const Arguments& arguments) {
  if (arguments.Has("compute_capability")) {
    return LimitsOf(arguments.Text("compute_capability"));
  }
  if (!arguments.Has("gpu")) {
    return Refuse("gpu", "is required unless compute_capability is given",
                  "such as gpu=\"H100 SXM\"");
  }
  const std::string& name = arguments.Gpu().name;
  for (const auto& [beginning, capability] : kCapabilities) {
    if (name.starts_with(beginning)) return LimitsOf(capability);
  }
  return Refuse("gpu", "the limits of an SM of " + name + " are not known",
                "for another NVIDIA GPU give compute_capability, such as 9.0");
}

double RoundUpTo(double value, double unit) { return std::ceil(value / unit) * unit; }

// Returns an error if no SM can run such a block.
Status CheckBlock(const Arguments& arguments, const SmLimits& limits) {
  const double threads = arguments.Number("threads");
  const double registers = arguments.Number("registers");
  const double shared = arguments.Number("shared");
  if (threads > kMaxBlockThreads) {
    return Refuse("threads", "a block has at most 1,024 threads", "use 1,024 or fewer");
  }
  if (registers > kMaxThreadRegisters) {
    return Refuse("registers", "a thread has at most 255 registers",
                  "the compiler spills the others to local memory; use 255 or fewer");
  }
  const double most_shared = (limits.shared_kib - limits.reserved_kib) * 1024;
  if (shared > most_shared) {
    return Refuse("shared",
                  FormatQuantity(shared, Unit::kBytes) +
                      " per block do not fit; compute capability " + limits.capability +
                      " allows " + FormatQuantity(most_shared, Unit::kBytes),
                  "use at most " + FormatQuantity(most_shared / 1024, Unit::kCount) + "KiB");
  }
  // The hardware rounds the number of warps up, as if they were spread evenly over the partitions.
  const double warps = RoundUpTo(std::ceil(threads / 32), kSmPartitions);
  if (warps * RoundUpTo(registers * 32, 256) > kSmRegisters) {
    return Refuse("registers",
                  FormatQuantity(threads, Unit::kCount) + " threads of " +
                      FormatQuantity(registers, Unit::kCount) +
                      " registers need more than the 65,536 of an SM",
                  "use at most " +
                      FormatQuantity(std::floor(kSmRegisters / warps / 256) * 8, Unit::kCount) +
                      " registers per thread, or fewer threads");
  }
  return Status::Ok();
}

Result<Answer> OccupancyAnswer(const Arguments& arguments) {
  ASSAY_ASSIGN_OR_RETURN(const SmLimits* limits, FindSmLimits(arguments));
  ASSAY_RETURN_IF_ERROR(CheckBlock(arguments, *limits));
  const std::string guide = "CUDA programming guide, capability " + std::string(limits->capability);
  Answer answer;
  const double warps = answer.Add("warps_per_block", std::ceil(arguments.Number("threads") / 32),
                                  Unit::kCount, "ceil(threads / 32)");
  answer.Add("warps_per_sm", limits->warps, Unit::kCount, "limit", guide);
  struct Limit {
    const char* name;
    double blocks;
  };
  const double per_warp = RoundUpTo(arguments.Number("registers") * 32, 256);
  const double warps_by_registers =
      std::floor(kSmRegisters / kSmPartitions / per_warp) * kSmPartitions;
  const double shared = RoundUpTo(arguments.Number("shared") + limits->reserved_kib * 1024,
                                  limits->shared_granularity);
  std::vector<Limit> blocks = {
      {"blocks_by_warps", answer.Add("blocks_by_warps", std::floor(limits->warps / warps),
                                     Unit::kCount, "floor(warps per SM / warps per block)")},
      {"blocks_by_registers",
       answer.Add("blocks_by_registers", std::floor(warps_by_registers / warps), Unit::kCount,
                  "floor(4 floor(16384 / registers per warp) / warps per block), in units of 256",
                  "cuda_occupancy.h")}};
  if (shared > 0) {
    blocks.push_back(
        {"blocks_by_shared",
         answer.Add("blocks_by_shared", std::floor(limits->shared_kib * 1024 / shared),
                    Unit::kCount, "floor(shared memory per SM / (per block + reserved))", guide)});
  }
  blocks.push_back(
      {"blocks_limit", answer.Add("blocks_limit", limits->blocks, Unit::kCount, "limit", guide)});
  const Limit& least =
      *std::min_element(blocks.begin(), blocks.end(),
                        [](const Limit& a, const Limit& b) { return a.blocks < b.blocks; });
  const double resident = answer.Add("blocks", least.blocks, Unit::kCount, "the least of these");
  answer.Add("warps", resident * warps, Unit::kCount, "blocks x warps per block");
  const double occupancy = answer.Add("occupancy", resident * warps / limits->warps,
                                      Unit::kFraction, "warps / warps per SM");
  answer.dominant = least.name;
  answer.headline = FormatQuantity(resident, Unit::kCount) + " " +
                    Plural(static_cast<int64_t>(resident), "block") + " per SM, " +
                    FormatQuantity(occupancy, Unit::kFraction) + " of the warps.";
  answer.notes.push_back(
      "Assumes the largest shared memory that the SM can be configured to. High occupancy hides "
      "latency; kernels with independent instructions per thread can be fast without it.");
  return answer;
}

Topic OccupancyTopic() {
  Topic topic;
  topic.name = "occupancy";
  topic.summary = "Count the blocks and warps that an SM holds at once";
  topic.about =
      "The resource that runs out first (warps, registers, shared memory or block slots) limits "
      "the blocks on an SM. The compiler prints registers and shared memory with -Xptxas -v.";
  topic.example = "--gpu \"H100 SXM\" --threads 256 --registers 64 --shared 48KiB";
  std::vector<std::string> capabilities;
  for (const SmLimits& limits : kSmLimits) capabilities.emplace_back(limits.capability);
  topic.inputs = {Input::Of("threads", Unit::kCount).Required().Help("threads per block"),
                  Input::Of("registers", Unit::kCount).Default("32").Help("registers per thread"),
                  Input::Of("shared", Unit::kBytes)
                      .Default("0")
                      .AtLeast(0)
                      .Help("shared memory per block, static and dynamic"),
                  Input::Gpu(),
                  Input::Choice("compute_capability", std::move(capabilities))
                      .Help("replaces the GPU's compute capability")};
  topic.compute = OccupancyAnswer;
  return topic;
}

Result<Answer> AmdahlAnswer(const Arguments& arguments) {
  Answer answer;
  double share = 0;
  if (arguments.Has("removed")) {
    ASSAY_RETURN_IF_ERROR(NeedInput(arguments, "total", "with removed", "the time of one layer"));
    if (arguments.Number("removed") >= arguments.Number("total")) {
      return Refuse("removed", "must be less than total", "give the part of total that goes away");
    }
    if (arguments.Has("share") || arguments.Has("factor")) {
      return Refuse(arguments.Has("share") ? "share" : "factor",
                    "cannot be combined with removed, which says what goes away",
                    "give removed, or share and factor");
    }
    share = arguments.Number("removed") / arguments.Number("total");
  } else {
    ASSAY_RETURN_IF_ERROR(NeedInput(arguments, "share", "unless removed is given",
                                    "the share of the time that becomes faster, such as 40%"));
    share = arguments.Number("share");
  }
  const bool gone = !arguments.Has("factor");
  if (gone && share >= 1) {
    return Refuse("share", "nothing would remain", "give factor, or a share below 100%");
  }
  answer.Add("share", share, Unit::kFraction,
             arguments.Has("removed") ? "removed / total" : "becomes faster", "given");
  const double remains = 1 - share + (gone ? 0 : share / arguments.Number("factor"));
  const double speed_up =
      answer.Add("speed_up", 1 / remains, Unit::kNumber,
                 gone ? "T / (T - removed)" : "1 / (1 - share + share/factor)", "Amdahl 1967");
  if (!gone && share < 1) {
    answer.Add("limit", 1 / (1 - share), Unit::kNumber, "1 / (1 - share), if it took no time",
               "Amdahl 1967");
  }
  answer.headline = "The whole becomes " + FormatQuantity(speed_up, Unit::kNumber) + "x as fast";
  if (arguments.Has("total")) {
    const double layers = arguments.Number("layers");
    const double total = answer.Add("total", arguments.Number("total") * layers, Unit::kSeconds,
                                    "total x L", "given");
    const double after = answer.Add("after", total * remains, Unit::kSeconds, "total / speed-up");
    answer.Add("saved", total - after, Unit::kSeconds, "total - after");
    answer.headline += ": " + FormatQuantity(after, Unit::kSeconds) + " instead of " +
                       FormatQuantity(total, Unit::kSeconds);
  }
  answer.headline += ".";
  answer.notes.push_back("Assumes that the rest takes as long as before and overlaps nothing.");
  return answer;
}

Topic AmdahlTopic() {
  Topic topic;
  topic.name = "amdahl";
  topic.summary = "Predict the gain of the whole if a part becomes faster";
  topic.about =
      "Give the time of a layer and what goes away, or the share that becomes faster and by what "
      "factor. Without a factor the part takes no time any more.";
  topic.example = "--total 500us --removed 60us --layers 32";
  topic.inputs = {Input::Of("total", Unit::kSeconds).Help("time of one layer, or of the whole"),
                  Input::Of("removed", Unit::kSeconds).Help("time per layer that goes away"),
                  Input::Of("share", Unit::kFraction).Help("share of the time that becomes faster"),
                  Input::Of("factor", Unit::kNumber).Help("by which that part becomes faster"),
                  Input::Of("layers", Unit::kCount).Default("1").Help("layers with this time")};
  topic.compute = AmdahlAnswer;
  return topic;
}

Result<Answer> OverlapAnswer(const Arguments& arguments) {
  const double compute = arguments.Number("compute");
  const double communication = arguments.Number("communication");
  const double shorter = std::min(compute, communication);
  Answer answer;
  answer.Add("compute", compute, Unit::kSeconds, "alone", "given");
  answer.Add("communication", communication, Unit::kSeconds, "alone", "given");
  const double ideal = answer.Add("ideal_hidden_share", shorter / communication, Unit::kFraction,
                                  "min(communication, compute) / communication");
  double overlap = arguments.Number("overlap");
  if (arguments.Has("together")) {
    const double together = arguments.Number("together");
    const double longer = std::max(compute, communication);
    if (together < longer) {
      return Refuse(
          "together",
          "is less than the longer of both alone, " + FormatQuantity(longer, Unit::kSeconds),
          "measure all three under the same conditions");
    }
    overlap = std::max(0.0, (compute + communication - together) / shorter);
  }
  answer.Add("overlap", overlap, Unit::kFraction,
             arguments.Has("together") ? "(compute + communication - together) / the shorter"
                                       : "share of compute that hides communication",
             arguments.Has("together") || arguments.Given("overlap") ? "given" : "ideal");
  // An `overlap` computed from measured times is a fraction of the shorter of the compute and
  // communication times. One given by the user is a fraction of the compute time.
  const double hiding = arguments.Has("together") ? shorter * overlap : compute * overlap;
  const double exposed = answer.Add("exposed", std::max(0.0, communication - hiding),
                                    Unit::kSeconds, "max(0, communication - compute x overlap)");
  answer.Add("hidden_share", 1 - exposed / communication, Unit::kFraction,
             "(communication - exposed) / communication");
  const bool slower =
      arguments.Has("together") && arguments.Number("together") > compute + communication;
  const double step =
      slower ? answer.Add("time", arguments.Number("together"), Unit::kSeconds,
                          "together: longer than one after the other", "given")
             : answer.Add("time", compute + exposed, Unit::kSeconds, "compute + exposed");
  answer.dominant = exposed > compute ? "exposed" : "compute";
  answer.headline = FormatQuantity(exposed, Unit::kSeconds) + " of the communication is exposed; " +
                    "together they take " + FormatQuantity(step, Unit::kSeconds) + ".";
  if (ideal < 1) {
    answer.notes.push_back(
        "The communication is longer than the compute, so even perfect overlap exposes some.");
  }
  answer.notes.push_back(
      "Leaves out that both slow each other down by sharing SMs, memory and power; the benchmark "
      "\"overlap\" measures it.");
  return answer;
}

Topic OverlapTopic() {
  Topic topic;
  topic.name = "overlap";
  topic.summary = "Compute how much communication is hidden behind compute";
  topic.about =
      "Compare communication with the compute that it may run beside, such as the backward pass. "
      "The overlap is ideal unless given, or derived from the time of both together.";
  topic.example = "--compute 40ms --communication 30ms --overlap 0.6";
  topic.inputs = {
      Input::Of("compute", Unit::kSeconds).Required().Help("time of the compute alone"),
      Input::Of("communication", Unit::kSeconds).Required().Help("time of the communication alone"),
      Input::Of("overlap", Unit::kFraction)
          .Default("1")
          .AtLeast(0)
          .Help("share of the compute that hides communication"),
      Input::Of("together", Unit::kSeconds).Help("measured time of both at once")};
  topic.compute = OverlapAnswer;
  return topic;
}

Result<Answer> FusionAnswer(const Arguments& arguments) {
  const double kernels = arguments.Number("kernels");
  const double bytes = arguments.Number("bytes");
  Answer answer;
  const double apart = answer.Add("unfused_bytes", 2 * kernels * bytes, Unit::kBytes,
                                  "2 S per kernel: one read, one write");
  const double fused = answer.Add("fused_bytes", 2 * bytes, Unit::kBytes, "2 S");
  const double saved = answer.Add("bytes_saved", apart - fused, Unit::kBytes, "2 (kernels - 1) S");
  const double launches = answer.Add("launches_saved", kernels - 1, Unit::kCount, "kernels - 1");
  answer.headline = "Fusion saves " + FormatQuantity(saved, Unit::kBytes) + " of traffic and " +
                    Counted(static_cast<int64_t>(launches), "launch", "launches") + ".";
  if (arguments.Has("gpu") || arguments.Has("bandwidth")) {
    ASSAY_ASSIGN_OR_RETURN(const Figure bandwidth, FindBandwidth(arguments));
    answer.Add("bandwidth", bandwidth.value, Unit::kBytesPerSecond, "memory", bandwidth.source);
    const double before = answer.Add("unfused", apart / bandwidth.value + kernels * kStreamLaunch,
                                     Unit::kSeconds, "bytes / bandwidth + kernels x 2.5 us");
    const double after = answer.Add("fused", fused / bandwidth.value + kStreamLaunch,
                                    Unit::kSeconds, "bytes / bandwidth + 2.5 us");
    answer.Add("speed_up", before / after, Unit::kNumber, "unfused / fused");
    answer.dominant =
        saved / bandwidth.value >= launches * kStreamLaunch ? "bytes_saved" : "launches_saved";
    answer.headline += " It takes " + FormatQuantity(after, Unit::kSeconds) + " instead of " +
                       FormatQuantity(before, Unit::kSeconds) + ".";
  }
  answer.notes.push_back(
      "For a chain of kernels that each read and write one array of this size. If the array stays "
      "in the L2 cache between them, fusion saves less.");
  return answer;
}

Topic FusionTopic() {
  Topic topic;
  topic.name = "fusion";
  topic.summary = "Count what fusing a chain of elementwise kernels saves";
  topic.about =
      "Kernels bound by memory cost what they read and write. A fused chain reads its input and "
      "writes its result once.";
  topic.example = "--kernels 5 --bytes 512MB --gpu \"H100 SXM\"";
  topic.inputs = {Input::Of("kernels", Unit::kCount).Required().Help("kernels of the chain"),
                  Input::Of("bytes", Unit::kBytes).Required().Help("size of the array"),
                  Input::Gpu()};
  for (Input& input : HardwareInputs({"bandwidth"})) topic.inputs.push_back(std::move(input));
  topic.compute = FusionAnswer;
  return topic;
}

}  // namespace

std::vector<Topic> KernelTopics() {
  std::vector<Topic> all = {OccupancyTopic(), AmdahlTopic(), OverlapTopic(), FusionTopic()};
  for (std::vector<Topic> (*const topics)() :
       {RooflineTopics, MachineTopics, NumberTopics, ProfileTopics}) {
    for (Topic& topic : topics()) all.push_back(std::move(topic));
  }
  return all;
}

}  // namespace assay::predict
