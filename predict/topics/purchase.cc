// The topics of `plan` about buying and renting: compare and build.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/numbers.h"
#include "common/text.h"
#include "predict/topics/topics.h"

namespace assay::predict {
namespace {

// One GPU of a comparison. Figures that are unknown are nullopt.
struct Candidate {
  std::string name;
  std::optional<Figure> peak;
  std::optional<Figure> bandwidth;
  std::optional<double> memory;
  std::optional<double> watts;
  std::optional<double> price;  // Per hour.

  std::optional<double> Ridge() const {
    if (!peak || !bandwidth) return std::nullopt;
    return peak->value / bandwidth->value;
  }
};

Result<std::vector<Candidate>> ReadCandidates(const Arguments& arguments) {
  const std::string& dtype = arguments.Text("dtype");
  const std::vector<double> prices = arguments.PricePerGpu("price");
  std::vector<Candidate> candidates;
  for (const Hardware& gpu : arguments.Gpus()) {
    Candidate candidate;
    candidate.name = gpu.name;
    if (const Result<Figure> peak = gpu.Peak(dtype); peak.ok()) candidate.peak = *peak;
    candidate.bandwidth = gpu.memory_bandwidth;
    candidate.memory = gpu.memory_bytes;
    candidate.watts = gpu.watts;
    if (!prices.empty()) candidate.price = prices[candidates.size()];
    candidates.push_back(std::move(candidate));
  }
  if (candidates.size() < 2) {
    return Refuse("gpu", "a comparison needs two or more GPUs",
                  "such as gpu=\"H100 SXM,A100-SXM4-80GB\"");
  }
  return candidates;
}

// Returns a number that is proportional to the price per FLOP at this intensity.
double CostPerFlop(const Candidate& gpu, double intensity) {
  return *gpu.price / std::min(gpu.peak->value, intensity * gpu.bandwidth->value);
}

// Returns the arithmetic intensity at which a computation costs the same on GPUs A and B, or
// nullopt if the same GPU is cheaper at all intensities. There is at most one such intensity,
// because the cost ratio is strictly monotonic between the two ridges and constant elsewhere.
std::optional<double> BreakEvenIntensity(const Candidate& a, const Candidate& b) {
  const double low = std::min(*a.Ridge(), *b.Ridge());
  const double high = std::max(*a.Ridge(), *b.Ridge());
  const double at_low = CostPerFlop(a, low) / CostPerFlop(b, low) - 1;
  const double at_high = CostPerFlop(a, high) / CostPerFlop(b, high) - 1;
  if (at_low * at_high >= 0) return std::nullopt;
  // At intensities between the two ridges, the GPU with the lower ridge is limited by arithmetic,
  // and the other one by memory.
  const Candidate& compute = *a.Ridge() < *b.Ridge() ? a : b;
  const Candidate& memory = *a.Ridge() < *b.Ridge() ? b : a;
  return *memory.price * compute.peak->value / (*compute.price * memory.bandwidth->value);
}

Grid CompareGrid(const std::vector<Candidate>& candidates, bool priced) {
  Grid grid;
  grid.title = "GPUs; gains are over the last one";
  grid.columns = {{"gpu", Unit::kNumber},
                  {"peak", Unit::kFlopPerSecond},
                  {"bandwidth", Unit::kBytesPerSecond},
                  {"ridge", Unit::kFlopPerByte},
                  {"memory", Unit::kBytes},
                  {"power", Unit::kWatts},
                  {"decode_gain", Unit::kNumber},
                  {"prefill_gain", Unit::kNumber}};
  if (priced) {
    grid.columns.push_back({"price", Unit::kMoneyPerHour});
    grid.columns.push_back({"flop_per_money", Unit::kFlop});
    grid.columns.push_back({"bytes_per_money", Unit::kBytes});
  }
  const auto cell = [](const std::optional<double>& value) -> Grid::Cell {
    if (!value) return std::monostate();
    return *value;
  };
  const auto value_of = [](const std::optional<Figure>& figure) -> std::optional<double> {
    if (!figure) return std::nullopt;
    return figure->value;
  };
  const auto ratio = [](std::optional<double> a, std::optional<double> b) -> std::optional<double> {
    if (!a || !b) return std::nullopt;
    return *a / *b;
  };
  const Candidate& last = candidates.back();
  for (const Candidate& gpu : candidates) {
    const std::optional<double> peak = value_of(gpu.peak);
    const std::optional<double> bandwidth = value_of(gpu.bandwidth);
    std::vector<Grid::Cell> row = {gpu.name,
                                   cell(peak),
                                   cell(bandwidth),
                                   cell(gpu.Ridge()),
                                   cell(gpu.memory),
                                   cell(gpu.watts),
                                   cell(ratio(bandwidth, value_of(last.bandwidth))),
                                   cell(ratio(peak, value_of(last.peak)))};
    if (priced) {
      std::optional<double> per_second;
      if (gpu.price) per_second = *gpu.price / 3600;
      row.push_back(cell(gpu.price));
      row.push_back(cell(ratio(peak, per_second)));
      row.push_back(cell(ratio(bandwidth, per_second)));
    }
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

// Adds terms that say how many times faster GPU A is than GPU B, and for which workloads each of
// them is cheaper.
void AddPairTerms(const Candidate& a, const Candidate& b, const std::string& dtype,
                  Answer& answer) {
  if (a.bandwidth && b.bandwidth) {
    const double gain = answer.Add("decode_gain", a.bandwidth->value / b.bandwidth->value,
                                   Unit::kNumber, "bandwidth A / B: decode is bound by memory",
                                   a.bandwidth->source + "; " + b.bandwidth->source);
    answer.headline =
        a.name + " decodes " + FormatQuantity(gain, Unit::kNumber) + "x as fast as " + b.name;
  }
  if (a.peak && b.peak) {
    const double gain = answer.Add("prefill_gain", a.peak->value / b.peak->value, Unit::kNumber,
                                   "peak A / B, dense " + dtype + ": prefill is bound by compute",
                                   a.peak->source + "; " + b.peak->source);
    answer.headline += (answer.headline.empty() ? a.name : " and") + std::string(" prefills ") +
                       FormatQuantity(gain, Unit::kNumber) + "x as fast" +
                       (answer.headline.empty() ? " as " + b.name : "");
  }
  if (!answer.headline.empty()) answer.headline += ".";
  if (!a.price || !b.price) return;
  answer.Add("price_ratio", *a.price / *b.price, Unit::kNumber, "price A / B", "given");
  if (a.bandwidth && b.bandwidth) {
    answer.Add("decode_per_money", a.bandwidth->value / b.bandwidth->value / (*a.price / *b.price),
               Unit::kNumber, "decode gain / price ratio");
  }
  if (a.peak && b.peak) {
    answer.Add("prefill_per_money", a.peak->value / b.peak->value / (*a.price / *b.price),
               Unit::kNumber, "prefill gain / price ratio");
  }
  if (!a.Ridge() || !b.Ridge()) return;
  const auto cheaper_at = [&](double intensity) {
    return CostPerFlop(a, intensity) <= CostPerFlop(b, intensity) ? a.name : b.name;
  };
  if (const std::optional<double> even = BreakEvenIntensity(a, b)) {
    answer.Add("break_even", *even, Unit::kFlopPerByte,
               "price A x time A = price B x time B, time = max(1/peak, 1/(I x bandwidth))",
               "Williams 2009");
    answer.headline += " Per result, " + cheaper_at(*even / 2) + " is cheaper below " +
                       FormatQuantity(*even, Unit::kFlopPerByte) + " and " + cheaper_at(*even * 2) +
                       " above.";
  } else {
    answer.headline += " Per result, " + cheaper_at(*a.Ridge()) + " is cheaper at every intensity.";
  }
}

Result<Answer> CompareAnswer(const Arguments& arguments) {
  Answer answer;
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Candidate> candidates, ReadCandidates(arguments));
  answer.currency = arguments.currency();
  const bool priced = std::any_of(candidates.begin(), candidates.end(),
                                  [](const Candidate& gpu) { return gpu.price.has_value(); });
  AddPairTerms(candidates.front(), candidates.back(), arguments.Text("dtype"), answer);
  answer.grids.push_back(CompareGrid(candidates, priced));
  answer.notes.push_back(
      "Compares peaks and bandwidths only. Whether a model fits, and what software reaches, can "
      "decide differently: see \"assay plan serve\".");
  if (candidates.size() > 2) {
    answer.notes.push_back("The terms compare the first GPU (A) with the last (B).");
  }
  return answer;
}

Topic CompareTopic() {
  Topic topic;
  topic.name = "compare";
  topic.command = "plan";
  topic.summary = "Compare GPUs in decode, prefill and per price";
  topic.about =
      "Decode follows the memory bandwidth, prefill the peak. With prices, says from which "
      "operations per byte on which GPU is cheaper per result.";
  topic.example = "--gpu \"H100 SXM,A100-SXM4-80GB\" --price \"3.00 USD,1.80 USD\"";
  Input gpus = Input::Gpus().Default("").Required().Help(
      "two or more GPUs of \"assay specs\", separated by commas");
  topic.inputs = {
      std::move(gpus),
      Input::Choice("dtype", {"bf16", "fp16", "tf32", "fp32", "fp64", "fp8", "int8", "fp4"})
          .Default("bf16")
          .Help("type that chooses the peak"),
      Input::Prices("price").Help(
          "price per hour of each GPU, in their order: \"3.00 USD,1.80 USD\"")};
  topic.compute = CompareAnswer;
  return topic;
}

// The number of PCI Express lanes that one NVMe drive uses.
constexpr double kDriveLanes = 4;

// Adds the lowest and the highest price of the machine, if the prices of its GPUs are given.
Status AddBuildPrices(const Arguments& arguments, double gpus, Answer& answer) {
  for (const auto& [low, high] : {std::pair("gpu_price_low", "gpu_price_high"),
                                  std::pair("rest_price_low", "rest_price_high")}) {
    if (!arguments.Has(low) && !arguments.Has(high)) continue;
    if (!arguments.Has(low))
      return Refuse(low, std::string("is required with ") + high, "give the lowest price too");
    if (arguments.Has(high) && arguments.Number(high) < arguments.Number(low)) {
      return Refuse(high, std::string("must not be less than ") + low, "swap them");
    }
  }
  if (!arguments.Has("gpu_price_low")) return Status::Ok();
  const auto total = [&](const char* end) {
    const auto price = [&](const std::string& part) {
      if (arguments.Has(part + end)) return arguments.Number(part + end);
      return arguments.Has(part + "_low") ? arguments.Number(part + "_low") : 0;
    };
    return gpus * price("gpu_price") + price("rest_price");
  };
  answer.Add("price_low", total("_low"), Unit::kMoney, "GPUs x price + rest", "given");
  answer.Add("price_high", total("_high"), Unit::kMoney, "GPUs x price + rest", "given");
  if (!arguments.Has("rest_price_low")) {
    answer.notes.push_back("The price is that of the GPUs; give rest_price_low for the machine.");
  }
  return Status::Ok();
}

Status AddBuildPower(const Arguments& arguments, double gpus, Answer& answer) {
  const std::optional<double> sheet = arguments.Gpu().watts;
  if (!arguments.Has("gpu_power") && !sheet) {
    return Refuse("gpu_power", "is required unless the GPU's sheet states it", "such as 575W");
  }
  const double each =
      answer.Add("gpu_power", arguments.Has("gpu_power") ? arguments.Number("gpu_power") : *sheet,
                 Unit::kWatts, "of one GPU", arguments.Has("gpu_power") ? "given" : "sheet");
  const double rest = answer.Add("rest_power", arguments.Number("rest_power"), Unit::kWatts,
                                 "CPU, drives, fans", "given");
  const double power = answer.Add("power", gpus * each + rest, Unit::kWatts, "GPUs x W + rest");
  const double supply =
      answer.Add("supply", arguments.Number("supply"), Unit::kWatts, "power supply", "given");
  if (power > supply) {
    const double fit = std::floor((supply - rest) / each);
    return Refuse(
        "supply",
        FormatQuantity(power, Unit::kWatts) + " do not fit a supply of " +
            FormatQuantity(supply, Unit::kWatts),
        "use a supply of at least " + FormatQuantity(power, Unit::kWatts) +
            (fit >= 1 ? ", or at most " + Counted(static_cast<int64_t>(fit), "GPU") : ""));
  }
  answer.Add("headroom", supply - power, Unit::kWatts, "supply - power");
  answer.Add("load", power / supply, Unit::kFraction, "power / supply");
  if (power > 0.8 * supply) {
    answer.notes.push_back(
        "GPUs exceed their rated power for milliseconds. Above 80% of the supply, limit their "
        "power or take a larger supply.");
  }
  return Status::Ok();
}

Status AddBuildLanes(const Arguments& arguments, double gpus, Answer& answer) {
  const double lanes = arguments.Number("lanes");
  const double other = arguments.Number("drives") * kDriveLanes + arguments.Number("nic_lanes");
  const double per_gpu = arguments.Number("gpu_lanes");
  const double used = answer.Add("lanes_used", gpus * per_gpu + other, Unit::kCount,
                                 "GPUs x lanes + drives x 4 + NIC");
  if (used > lanes) {
    const double fit = std::floor((lanes - other) / gpus);
    std::string remedy = "use a CPU with more lanes, or fewer devices";
    for (const double narrower : {8.0, 4.0}) {
      if (narrower < per_gpu && narrower <= fit) {
        remedy += ", or " + FormatQuantity(narrower, Unit::kCount) + " lanes per GPU";
        break;
      }
    }
    return Refuse("lanes",
                  FormatQuantity(used, Unit::kCount) + " lanes are needed, the CPU has " +
                      FormatQuantity(lanes, Unit::kCount),
                  remedy);
  }
  answer.Add("lanes_free", lanes - used, Unit::kCount, "lanes - used");
  return Status::Ok();
}

Result<Answer> BuildAnswer(const Arguments& arguments) {
  const double gpus = arguments.Number("gpus");
  const Hardware& gpu = arguments.Gpu();
  Answer answer;
  ASSAY_RETURN_IF_ERROR(AddBuildPower(arguments, gpus, answer));
  ASSAY_RETURN_IF_ERROR(AddBuildLanes(arguments, gpus, answer));
  if (gpu.memory_bytes) {
    answer.Add("memory_each", *gpu.memory_bytes, Unit::kBytes, "of one GPU",
               arguments.Has("memory") ? "given" : "sheet");
    answer.Add("memory_all", gpus * *gpu.memory_bytes, Unit::kBytes, "GPUs x memory");
  }
  ASSAY_RETURN_IF_ERROR(AddBuildPrices(arguments, gpus, answer));
  answer.headline = Counted(static_cast<int64_t>(gpus), "GPU") + " and the rest draw " +
                    FormatQuantity(answer.Find("power")->value, Unit::kWatts) + " of " +
                    FormatQuantity(answer.Find("supply")->value, Unit::kWatts) + " and use " +
                    FormatQuantity(answer.Find("lanes_used")->value, Unit::kCount) + " of " +
                    FormatQuantity(arguments.Number("lanes"), Unit::kCount) + " PCIe lanes.";
  if (gpus > 1) {
    answer.notes.push_back(
        gpu.link_bandwidth
            ? "The memory of the GPUs is not one pool: a model must be split over them, here with "
              "NVLink between them."
            : "Without NVLink the memory of the GPUs is not pooled: a model that is larger than "
              "one of them must be split, and its traffic crosses PCI Express.");
  }
  return answer;
}

Topic BuildTopic() {
  Topic topic;
  topic.name = "build";
  topic.command = "plan";
  topic.summary = "Check a machine's power, PCIe lanes, memory and price";
  topic.about =
      "Adds up what GPUs, CPU, drives and network draw and occupy, and refuses a machine that "
      "does not work.";
  topic.example = "--gpu \"RTX 5090\" --gpus 2 --supply 1600W --lanes 88";
  topic.inputs = {
      Input::Gpu(),
      Input::Of("gpus", Unit::kCount).Default("2").AtMost(64).Help("GPUs"),
      Input::Of("gpu_power", Unit::kWatts).AtMost(1e6).Help("replaces the power of one GPU"),
      Input::Of("rest_power", Unit::kWatts)
          .Default("350W")
          .AtLeast(0)
          .AtMost(1e6)
          .Help("power of CPU, drives and fans"),
      Input::Of("supply", Unit::kWatts).Required().AtMost(1e6).Help("power supply, such as 1600W"),
      Input::Of("lanes", Unit::kCount).Default("88").AtMost(1024).Help("PCIe lanes of the CPU"),
      Input::Of("gpu_lanes", Unit::kCount).Default("16").AtMost(16).Help("PCIe lanes per GPU"),
      Input::Of("drives", Unit::kCount).Default("1").AtLeast(0).AtMost(64).Help("NVMe drives"),
      Input::Of("nic_lanes", Unit::kCount)
          .Default("8")
          .AtLeast(0)
          .AtMost(64)
          .Help("PCIe lanes of the network card"),
      Input::Of("gpu_price_low", Unit::kMoney).Help("price of one GPU, at least"),
      Input::Of("gpu_price_high", Unit::kMoney).Help("price of one GPU, at most"),
      Input::Of("rest_price_low", Unit::kMoney).Help("price of the rest, at least"),
      Input::Of("rest_price_high", Unit::kMoney).Help("price of the rest, at most")};
  for (Input& input : HardwareInputs({"memory"})) topic.inputs.push_back(std::move(input));
  topic.compute = BuildAnswer;
  return topic;
}

}  // namespace

std::vector<Topic> PurchaseTopics() { return {CompareTopic(), BuildTopic()}; }

}  // namespace assay::predict
