// The topic peak computes a chip's arithmetic rate from its units. The topic traffic computes the
// data rates of memory and links.
#include <cmath>
#include <string>

#include "predict/cost.h"
#include "predict/topics/kernel.h"
#include "roofline/spec_sheet.h"

namespace assay::predict {
namespace {

// The units of a chip that multiply, such as tensor cores.
struct MultiplierUnits {
  double units = 0;
  double flop_per_clock = 0;  // Of one unit.
  std::string formula;
  std::string units_source = "given";
  std::string rate_source = "given";
  const GpuSpec* sheet = nullptr;  // May be null.
  std::string column;              // Of the sheet.
};

Result<MultiplierUnits> GpuUnits(const Arguments& arguments) {
  MultiplierUnits found;
  found.formula = "units x FLOP per unit and clock x clock";
  const std::string& dtype = arguments.Text("dtype");
  found.column = dtype == "fp64" ? "fp64_tensor" : dtype;
  found.sheet = arguments.Has("gpu") ? SheetNamed(arguments.Gpu().name) : nullptr;
  std::optional<double> units;
  std::optional<double> rate;
  if (found.sheet != nullptr) {
    // The sheet has a column for fp16 only if it differs from bf16.
    const bool unknown = found.sheet->flops.count(found.column) == 0;
    if (unknown && dtype == "fp64") found.column = "fp64_vector";
    if (unknown && dtype == "fp16") found.column = "bf16";
    if (found.sheet->sm_count) units = *found.sheet->sm_count;
    rate = RatePerClock(found.sheet->name, found.column);
    found.units_source = "sheet: SMs";
    found.rate_source = "NVIDIA's architecture papers (sm_rates.csv)";
  }
  if (arguments.Has("units")) {
    units = arguments.Number("units");
    found.units_source = "given";
  }
  if (arguments.Has("flop_per_clock")) {
    rate = arguments.Number("flop_per_clock");
    found.rate_source = "given";
  }
  if (!units) {
    return Refuse("units", "the number of SMs is not known",
                  "give it, such as 132 for H100 SXM, or name a GPU that \"assay specs\" lists");
  }
  if (!rate) {
    return Refuse("flop_per_clock", "the rate per SM and clock is not known for " + dtype,
                  "give it, such as 4096 for bf16 on H100");
  }
  found.units = *units;
  found.flop_per_clock = *rate;
  return found;
}

Result<MultiplierUnits> UnitsOf(const Arguments& arguments) {
  const std::string& kind = arguments.Text("kind");
  if (kind == "gpu") return GpuUnits(arguments);
  MultiplierUnits found;
  ASSAY_RETURN_IF_ERROR(NeedInput(arguments, "units", "for kind " + kind,
                                  kind == "cpu" ? "the number of cores" : "the number of arrays"));
  found.units = arguments.Number("units");
  if (kind == "systolic") {
    for (const char* name : {"rows", "columns"}) {
      ASSAY_RETURN_IF_ERROR(NeedInput(arguments, name, "for kind systolic", "such as 128"));
    }
    found.flop_per_clock = 2 * arguments.Number("rows") * arguments.Number("columns");
    found.formula = "arrays x rows x columns x 2 x clock";
  } else {
    ASSAY_RETURN_IF_ERROR(NeedInput(arguments, "lanes", "for kind cpu",
                                    "16 for fp32 with AVX-512, 8 with AVX2, 4 with NEON"));
    found.flop_per_clock = 2 * arguments.Number("lanes") * arguments.Number("fma_units");
    found.formula = "cores x lanes x FMA units x 2 x clock";
  }
  return found;
}

Result<Answer> PeakAnswer(const Arguments& arguments) {
  ASSAY_ASSIGN_OR_RETURN(const MultiplierUnits units, UnitsOf(arguments));
  std::optional<double> sheet_peak;
  if (units.sheet != nullptr) {
    const auto found = units.sheet->flops.find(units.column);
    if (found != units.sheet->flops.end()) sheet_peak = found->second;
  }
  double clock = 0;
  std::string clock_source = "given";
  if (arguments.Has("clock")) {
    clock = arguments.Number("clock");
  } else if (sheet_peak) {
    clock = *sheet_peak / (units.units * units.flop_per_clock);
    clock_source = "implied by the sheet's peak";
  } else {
    return Refuse("clock", "is required if no sheet gives the peak", "such as 1830MHz");
  }
  Answer answer;
  answer.Add("units", units.units, Unit::kCount, "SMs, arrays or cores", units.units_source);
  answer.Add("flop_per_clock", units.flop_per_clock, Unit::kNumber, "FLOP per unit and clock",
             units.rate_source);
  answer.Add("clock", clock, Unit::kHertz, "clock", clock_source);
  const double peak = answer.Add("peak", units.units * units.flop_per_clock * clock,
                                 Unit::kFlopPerSecond, units.formula);
  if (sheet_peak) {
    answer.Add("sheet_peak", *sheet_peak, Unit::kFlopPerSecond, "dense",
               units.sheet->certainty == "sheet" ? "sheet" : "sheet (recalled)");
    answer.Add("share_of_sheet", peak / *sheet_peak, Unit::kNumber, "peak / sheet's peak");
  }
  answer.headline = "The peak is " + FormatQuantity(peak, Unit::kFlopPerSecond) + " at " +
                    FormatQuantity(clock, Unit::kHertz) + ".";
  answer.notes.push_back(
      "Dense: data sheets that count 2:4 sparsity show twice as much. Under load a chip may run "
      "below this clock to keep within its power.");
  return answer;
}

Topic PeakTopic() {
  Topic topic;
  topic.name = "peak";
  topic.summary = "Compute a chip's peak from its units and clock";
  topic.about =
      "Shows where a data sheet's peak is from, and what remains of it at the clock that a GPU "
      "holds under load.";
  topic.example = "--gpu \"H100 SXM\" --dtype bf16 --clock 1500MHz";
  topic.inputs = {
      Input::Choice("kind", {"gpu", "systolic", "cpu"}).Default("gpu").Help("kind of chip"),
      Input::Gpu(),
      Input::Choice("dtype", {"bf16", "fp16", "tf32", "fp32", "fp64", "fp8", "int8", "fp4"})
          .Default("bf16")
          .Help("type of the elements, for the GPU's rate per clock"),
      Input::Of("units", Unit::kCount).Help("SMs, systolic arrays or cores"),
      Input::Of("flop_per_clock", Unit::kCount).Help("FLOP per SM and clock; an FMA is 2"),
      Input::Of("rows", Unit::kCount).Help("rows of a systolic array"),
      Input::Of("columns", Unit::kCount).Help("columns of a systolic array"),
      Input::Of("lanes", Unit::kCount).Help("elements of a CPU's vector register"),
      Input::Of("fma_units", Unit::kCount).Default("1").Help("vector FMA units per CPU core"),
      Input::Of("clock", Unit::kHertz).Help("clock, such as 1830MHz")};
  topic.compute = PeakAnswer;
  return topic;
}

// The bytes that the loads of a matrix product request from the caches.
struct LoadedBytes {
  double bytes = 0;
  std::string formula;
};

constexpr double kWarp = 32;
constexpr double kSectorBytes = 32;

// Returns the bytes loaded by a naive matrix product C = A B, in which each thread computes one
// element of C. The 32 threads of a warp cover a block of C with `columns` columns and 32/columns
// rows. At each step of k, the warp loads one element of A per row of the block, and `columns`
// neighboring elements of B. Memory is read in whole sectors.
LoadedBytes NaiveLoads(double m, double n, double k, double element, double columns) {
  const double rows = kWarp / columns;
  const double sectors = rows + std::ceil(columns * element / kSectorBytes);
  return {m * n / kWarp * k * sectors * kSectorBytes,
          "m n/32 warps x k x sectors of 32 B (one per row of A, and the columns of B)"};
}

// Adds terms to the answer about moving `bytes`: the rate if the user gave a time, and otherwise
// the minimum time, if the bandwidth is known. Returns an error if the rate exceeds the bandwidth.
Status AddTrafficRate(const Arguments& arguments, double bytes, bool to_memory, Answer& answer) {
  if (!arguments.Has("time")) {
    if (!to_memory || !(arguments.Has("gpu") || arguments.Has("bandwidth"))) return Status::Ok();
    ASSAY_ASSIGN_OR_RETURN(const Figure bandwidth, FindBandwidth(arguments));
    answer.Add("bandwidth", bandwidth.value, Unit::kBytesPerSecond, "memory", bandwidth.source);
    const double time =
        answer.Add("least_time", bytes / bandwidth.value, Unit::kSeconds, "bytes / bandwidth");
    answer.headline += " At best they take " + FormatQuantity(time, Unit::kSeconds) + ".";
    return Status::Ok();
  }
  const double time = arguments.Number("time");
  const double rate = answer.Add("rate", bytes / time, Unit::kBytesPerSecond, "bytes / time");
  answer.headline += " In " + FormatQuantity(time, Unit::kSeconds) + " that is " +
                     FormatQuantity(rate, Unit::kBytesPerSecond) + ".";
  if (!to_memory || !(arguments.Has("gpu") || arguments.Has("bandwidth"))) return Status::Ok();
  ASSAY_ASSIGN_OR_RETURN(const Figure bandwidth, FindBandwidth(arguments));
  if (rate > bandwidth.value) {
    return Refuse("time",
                  FormatQuantity(rate, Unit::kBytesPerSecond) + " is " +
                      FormatQuantity(rate / bandwidth.value, Unit::kFraction) +
                      " of the memory bandwidth, " +
                      FormatQuantity(bandwidth.value, Unit::kBytesPerSecond),
                  "check the bytes; if a cache held the data, measure with larger arrays");
  }
  answer.Add("bandwidth", bandwidth.value, Unit::kBytesPerSecond, "memory", bandwidth.source);
  answer.Add("share", rate / bandwidth.value, Unit::kFraction, "rate / bandwidth");
  return Status::Ok();
}

Result<Answer> LinkTraffic(const Arguments& arguments) {
  ASSAY_RETURN_IF_ERROR(NeedInput(arguments, "rate", "for kind link", "such as 400Gbit/s"));
  Answer answer;
  const double rate = answer.Add("rate", arguments.Number("rate"), Unit::kBytesPerSecond,
                                 "Gbit/s / 8, one direction");
  answer.headline =
      "The link carries " + FormatQuantity(rate, Unit::kBytesPerSecond) + " in one direction";
  if (arguments.Has("bytes")) {
    const double time =
        answer.Add("least_time", arguments.Number("bytes") / rate, Unit::kSeconds, "bytes / rate");
    answer.headline += ": at best " + FormatQuantity(time, Unit::kSeconds);
  }
  answer.headline += ".";
  answer.notes.push_back("Leaves out headers, encoding and the latency of a message.");
  return answer;
}

Result<Answer> TrafficAnswer(const Arguments& arguments) {
  const std::string& kind = arguments.Text("kind");
  if (kind == "link") return LinkTraffic(arguments);
  Answer answer;
  LoadedBytes loads;
  if (kind == "moved") {
    ASSAY_RETURN_IF_ERROR(
        NeedInput(arguments, "bytes", "for kind moved", "bytes read plus bytes written"));
    loads = {arguments.Number("bytes"), "read plus written"};
  } else {
    for (const char* name : {"m", "n", "k"}) {
      ASSAY_RETURN_IF_ERROR(
          NeedInput(arguments, name, "for kind " + kind, "the size of the product"));
    }
    const double m = arguments.Number("m");
    const double n = arguments.Number("n");
    const double k = arguments.Number("k");
    const double element = BytesOf(arguments.Text("dtype"));
    if (kind == "linear") {
      loads = {element * (m * k + k * n), "(m k + k n) b: activations and weights"};
    } else if (kind == "tiled") {
      loads = {2 * m * n * k * element / arguments.Number("tile"), "2 m n k b / tile"};
    } else {
      loads = NaiveLoads(m, n, k, element, std::stod(arguments.Text("warp_columns")));
    }
  }
  answer.Add("bytes", loads.bytes, Unit::kBytes, loads.formula,
             arguments.Text("kind") == "moved" ? "given" : "");
  answer.headline =
      FormatQuantity(loads.bytes, Unit::kBytes) + (kind == "moved"    ? " move to and from memory."
                                                   : kind == "linear" ? " are read."
                                                                      : " are requested by loads.");
  const bool to_memory = kind == "moved" || kind == "linear";
  ASSAY_RETURN_IF_ERROR(AddTrafficRate(arguments, loads.bytes, to_memory, answer));
  if (!to_memory) {
    answer.notes.push_back(
        "These are requests to the L1 cache; L1 and L2 serve most of them, so main memory moves "
        "less.");
  }
  return answer;
}

Topic TrafficTopic() {
  Topic topic;
  topic.name = "traffic";
  topic.summary = "Count the bytes that a kernel or a link moves";
  topic.about =
      "kind moved turns bytes and a time into a bandwidth; linear counts the reads of a linear "
      "layer; naive and tiled count the loads that a simple product requests; link turns Gbit/s "
      "into GB/s.";
  topic.example = "--kind moved --bytes 201.3MB --time 217.9us --gpu \"RTX 4090\"";
  topic.inputs = {
      Input::Choice("kind", {"moved", "linear", "naive", "tiled", "link"})
          .Default("moved")
          .Help("what moves the bytes"),
      Input::Of("bytes", Unit::kBytes).Help("bytes read plus bytes written, or sent"),
      Input::Of("time", Unit::kSeconds).Help("measured time"),
      Input::Of("rate", Unit::kBytesPerSecond).Help("rate of the link in one direction"),
      Input::Of("m", Unit::kCount).Help("rows of the result"),
      Input::Of("n", Unit::kCount).Help("columns of the result"),
      Input::Of("k", Unit::kCount).Help("length of the dot products"),
      Input::Choice("dtype", {"fp64", "fp32", "bf16", "fp16", "fp8", "int8"})
          .Default("fp32")
          .Help("type of the elements"),
      Input::Of("tile", Unit::kCount).Default("16").Help("side of the square tile"),
      Input::Choice("warp_columns", {"32", "16", "8", "4", "2", "1"})
          .Default("16")
          .Help("columns of the result that a warp covers: 16 for blocks of 16 x 16 threads"),
      Input::Gpu()};
  for (Input& input : HardwareInputs({"bandwidth"})) topic.inputs.push_back(std::move(input));
  topic.compute = TrafficAnswer;
  return topic;
}

}  // namespace

std::vector<Topic> MachineTopics() { return {PeakTopic(), TrafficTopic()}; }

}  // namespace assay::predict
