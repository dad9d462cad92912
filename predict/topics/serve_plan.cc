// The topic "plan serve": which GPUs can serve a model within given latencies, how many are needed,
// and how much they cost.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "common/text.h"
#include "common/units.h"
#include "predict/topics/serving.h"

namespace assay::predict {
namespace {

// The requests to serve, the latency goals, and the way in which the model is served.
struct ServeGoal {
  ModelShape shape;
  Serving serving;    // Without tp.
  double input = 0;   // Prompt tokens of a request.
  double output = 0;  // Tokens that a request generates.
  double ttft = 0;
  double tpot = 0;
  double max_batch = 0;
  double efficiency = 1;
  double utilisation = 1;
  std::optional<double> rate;  // Requests per second.
  std::string currency;
};

// One choice: a GPU model with a tensor-parallel size.
struct ServeOption {
  Hardware gpu;
  int64_t tp = 1;
  std::string problem;        // Why it does not meet the goals; empty if it does.
  std::string obstacle;       // The same in a few words.
  bool fits = true;           // At batch 1.
  std::string problem_input;  // The input to change.
  std::string limit;          // What keeps the batch from growing.
  MemoryNeed need;            // Of one sequence.
  double room = 0;
  double memory_batch = 0;  // Largest batch that fits.
  double batch = 0;
  double step = 0;
  double prefill = 0;
  double tpot = 0;
  double ttft = 0;
  double requests = 0;  // Per second and replica.
  std::string source;   // Of the step's figures.
  std::string link_source;
  double replicas = 1;
  double gpus = 1;
  std::optional<double> price;  // Of one GPU per hour.
  double per_hour = 0;
  double per_million = 0;
};

double ServeTokensPerSecond(const ServeGoal& goal, const ServeOption& option) {
  return option.requests * goal.output;
}

double ServePerGpu(const ServeGoal& goal, const ServeOption& option) {
  return ServeTokensPerSecond(goal, option) / static_cast<double>(option.tp);
}

std::string ServeTime(double seconds) { return FormatQuantity(seconds, Unit::kSeconds); }

// Multiplies the figures of a GPU by the fraction that programs reach in practice.
Hardware ServeDerated(Hardware gpu, double efficiency) {
  const auto scale = [&](Figure& figure) {
    // Measured figures already contain the efficiency.
    if (!figure.source.starts_with("sheet") && figure.source != "given") return;
    figure.value *= efficiency;
    figure.low *= efficiency;
    figure.high *= efficiency;
    figure.source += " x " + FormatQuantity(efficiency, Unit::kFraction) + " given";
  };
  if (efficiency == 1) return gpu;
  for (auto& [column, peak] : gpu.peaks) scale(peak);
  if (gpu.memory_bandwidth) scale(*gpu.memory_bandwidth);
  return gpu;
}

// A search for the largest batch that meets both latency goals: the time to first token and the
// time per token. Uses bisection, because both latencies grow with the batch.
class ServeBatchSearch {
 public:
  ServeBatchSearch(const ServeGoal& goal, const Serving& serving, ServeOption& option)
      : goal_(goal), serving_(serving), option_(option) {}

  Status Run() {
    const double chunk = std::min(goal_.input, kPrefillChunk);
    Serving prefills = serving_;
    prefills.launch = kStreamLaunch;  // Prompts differ in length, so they have no CUDA graph.
    ASSAY_ASSIGN_OR_RETURN(const StepTime prefill,
                           PrefillStep(option_.gpu, goal_.shape, prefills, goal_.input, chunk));
    option_.prefill = prefill.seconds;
    ASSAY_RETURN_IF_ERROR(Set(1));
    if (!Meets()) {
      const bool late = option_.ttft > goal_.ttft;
      option_.problem = late ? "first token after " + ServeTime(option_.ttft) + " at batch 1"
                             : ServeTime(option_.tpot) + " per token at batch 1";
      option_.problem_input = late ? "slo_ttft" : "slo_tpot";
      option_.obstacle =
          late ? "TTFT " + ServeTime(option_.ttft) : "TPOT " + ServeTime(option_.tpot);
      return Status::Ok();
    }
    const double most = std::min(option_.memory_batch, goal_.max_batch);
    double low = 1;
    double high = most + 1;
    while (high - low > 1) {
      const double middle = std::floor(low + (high - low) / 2);
      ASSAY_RETURN_IF_ERROR(Set(middle));
      (Meets() ? low : high) = middle;
    }
    if (low == most) {
      option_.limit = most == option_.memory_batch ? "memory" : "max_batch";
    } else {
      ASSAY_RETURN_IF_ERROR(Set(low + 1));
      option_.limit = option_.tpot > goal_.tpot ? "TPOT" : "TTFT";
    }
    return Set(low);
  }

 private:
  bool Meets() const { return option_.tpot <= goal_.tpot && option_.ttft <= goal_.ttft; }

  // Computes the latencies for a batch of B requests. In steady state, each request leaves after
  // `output` steps and a new one takes its place, so the average step includes the prefill of
  // B/output prompts.
  Status Set(double batch) {
    const double context = goal_.input + goal_.output / 2;
    ASSAY_ASSIGN_OR_RETURN(const StepTime step,
                           DecodeStep(option_.gpu, goal_.shape, serving_, batch, context));
    option_.batch = batch;
    option_.step = step.seconds;
    option_.source = step.source;
    if (step.bandwidth.source != step.source) option_.source += "; " + step.bandwidth.source;
    option_.link_source = step.all_reduce.source;
    option_.tpot = step.seconds + batch / goal_.output * option_.prefill;
    option_.ttft = option_.prefill + step.seconds;
    option_.requests = batch / (goal_.output * option_.tpot);
    return Status::Ok();
  }

  const ServeGoal& goal_;
  const Serving& serving_;
  ServeOption& option_;
};

void AddServeCost(const ServeGoal& goal, ServeOption& option) {
  const auto tp = static_cast<double>(option.tp);
  double tokens = ServeTokensPerSecond(goal, option) * goal.utilisation;
  if (goal.rate) {
    option.replicas = std::ceil(*goal.rate / (option.requests * goal.utilisation));
    tokens = *goal.rate * goal.output;
  }
  option.gpus = option.replicas * tp;
  if (!option.price) return;
  option.per_hour = option.gpus * *option.price;
  option.per_million = option.per_hour / (tokens * 3600) * 1e6;
}

ServeOption TryServeOption(const ServeGoal& goal, const Hardware& gpu, int64_t tp,
                           std::optional<double> price) {
  ServeOption option;
  option.gpu = ServeDerated(gpu, goal.efficiency);
  option.tp = tp;
  option.price = price;
  Serving serving = goal.serving;
  serving.tp = tp;
  const std::optional<double> room = UsableMemory(gpu);
  if (!room) {
    option.problem = option.obstacle = "memory not known";
    option.problem_input = "gpu";
    return option;
  }
  option.room = *room;
  const double context = goal.input + goal.output;
  const double chunk = std::min(goal.input, kPrefillChunk);
  option.need = ServingMemory(goal.shape, serving, 1, context, chunk);
  option.memory_batch = LargestBatch(goal.shape, serving, context, chunk, *room);
  if (option.memory_batch < 1) {
    option.fits = false;
    option.obstacle = "memory";
    option.problem = "does not fit: " + FormatQuantity(option.need.total, Unit::kBytes) +
                     " needed, " + FormatQuantity(*room, Unit::kBytes) + " usable";
    option.problem_input = "gpu";
    return option;
  }
  if (const Status status = ServeBatchSearch(goal, serving, option).Run(); !status.ok()) {
    option.problem = status.message();
    option.obstacle = "a figure is not known";
    option.problem_input = "gpu";
  }
  if (option.problem.empty()) AddServeCost(goal, option);
  return option;
}

// Sorts the options from best to worst:
//   - Options that miss the latency goals, or fail for another reason, come last.
//   - Cheaper options come first.
//   - At equal cost, options with fewer GPUs come first (if a request rate is given), and then
//     those with more tokens per GPU.
void SortServeOptions(const ServeGoal& goal, std::vector<ServeOption>& options) {
  const auto key = [&](const ServeOption& option) {
    const bool fails = !option.problem.empty();
    const bool priced = option.price.has_value();
    return std::tuple(fails, fails ? false : !priced, fails ? 0.0 : option.per_million,
                      fails || !goal.rate ? 0.0 : option.gpus,
                      fails ? 0.0 : -ServePerGpu(goal, option));
  };
  std::stable_sort(options.begin(), options.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

Grid ServeOptionGrid(const ServeGoal& goal, const std::vector<ServeOption>& options) {
  const bool priced = std::any_of(options.begin(), options.end(),
                                  [](const ServeOption& option) { return option.price; });
  Grid grid;
  grid.title = "choices";
  // On narrow terminals, the last columns are omitted first.
  grid.columns = {{"gpu", Unit::kNumber},
                  {"tp", Unit::kCount},
                  {"users", Unit::kCount},
                  {"limited_by", Unit::kNumber}};
  if (priced) grid.columns.push_back({"per_million_output", Unit::kMoney});
  if (goal.rate) {
    grid.columns.push_back({"gpus", Unit::kCount});
    grid.columns.push_back({"replicas", Unit::kCount});
  }
  if (priced) grid.columns.push_back({"per_hour", Unit::kMoneyPerHour});
  for (const auto& [name, unit] :
       {std::pair("ttft", Unit::kSeconds), std::pair("tpot", Unit::kSeconds),
        std::pair("tokens_per_second", Unit::kTokensPerSecond),
        std::pair("per_gpu", Unit::kTokensPerSecond), std::pair("requests", Unit::kPerSecond)}) {
    grid.columns.push_back({name, unit});
  }
  grid.columns.push_back({"figures", Unit::kNumber});
  for (const ServeOption& option : options) {
    std::vector<Grid::Cell> row = {option.gpu.name, static_cast<double>(option.tp)};
    if (option.problem.empty()) {
      row.insert(row.end(), {option.batch, option.limit});
      if (priced) row.push_back(option.price ? Grid::Cell(option.per_million) : Grid::Cell());
      if (goal.rate) row.insert(row.end(), {option.gpus, option.replicas});
      if (priced) row.push_back(option.price ? Grid::Cell(option.per_hour) : Grid::Cell());
      row.insert(row.end(),
                 {option.ttft, option.tpot, ServeTokensPerSecond(goal, option),
                  ServePerGpu(goal, option), option.requests,
                  option.source.find("sheet") == std::string::npos ? "measured" : "sheet"});
    } else {
      row.insert(row.end(), {std::monostate(), "fails: " + option.obstacle});
    }
    row.resize(grid.columns.size());
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

// Removes the options that do not fit in memory. An option is a GPU model and a number of
// tensor-parallel GPUs. If none of the options for a GPU model fits, keeps the one with the most
// GPUs.
void DropSmallSizes(std::vector<ServeOption>& options) {
  std::map<std::string, int64_t> largest;
  std::map<std::string, bool> fits;
  for (const ServeOption& option : options) {
    largest[option.gpu.name] = std::max(largest[option.gpu.name], option.tp);
    fits[option.gpu.name] = fits[option.gpu.name] || option.fits;
  }
  std::erase_if(options, [&](const ServeOption& option) {
    return !option.fits && (fits[option.gpu.name] || option.tp < largest[option.gpu.name]);
  });
}

// Keeps one option per GPU model: the first that fits in memory and meets the latency goals.
// Returns the number of GPU models without such an option.
size_t KeepBestOfEach(std::vector<ServeOption>& options) {
  std::set<std::string> kept;
  std::set<std::string> all;
  std::erase_if(options, [&](const ServeOption& option) {
    all.insert(option.gpu.name);
    return !option.problem.empty() || !kept.insert(option.gpu.name).second;
  });
  return all.size() - kept.size();
}

// Returns an error for goals that no option meets. The error names the option that comes nearest.
Status RefuseServeGoals(const ServeGoal& goal, const std::vector<ServeOption>& options) {
  const ServeOption* nearest = nullptr;
  const auto excess = [&](const ServeOption& option) {
    return std::max(option.ttft / goal.ttft, option.tpot / goal.tpot);
  };
  for (const ServeOption& option : options) {
    if (option.problem_input == "gpu") continue;
    if (nearest == nullptr || excess(option) < excess(*nearest)) nearest = &option;
  }
  if (nearest == nullptr) {
    const ServeOption& largest = *std::min_element(
        options.begin(), options.end(), [](const ServeOption& a, const ServeOption& b) {
          return a.need.total - a.room < b.need.total - b.room;
        });
    return Refuse(
        "gpu",
        "none of the choices serves " + goal.shape.name + "; the nearest is " +
            std::to_string(largest.tp) + " x " + largest.gpu.name + ": " + largest.problem,
        largest.fits ? "try --tp 1, or GPUs whose figures are known"
                     : "name GPUs with more memory, larger tp, or smaller weights such as "
                       "int4");
  }
  return Refuse(nearest->problem_input,
                "no choice meets the goals; the nearest is " + std::to_string(nearest->tp) + " x " +
                    nearest->gpu.name + ", with the first token after " + ServeTime(nearest->ttft) +
                    " and " + ServeTime(nearest->tpot) + " per token",
                "allow at least that, or name faster GPUs");
}

void AddServeChoice(Answer& answer, const ServeGoal& goal, const ServeOption& best) {
  const double tokens = ServeTokensPerSecond(goal, best);
  answer.Add("tp", static_cast<double>(best.tp), Unit::kCount, "GPUs per replica: p");
  answer.Add("weights", best.need.weights, Unit::kBytes, "N w / p", goal.shape.source);
  answer.Add("kv_per_sequence", best.need.kv, Unit::kBytes, "2 L ceil(g/p) e k (input + output)",
             "kipply 2022");
  answer.Add("room", best.room, Unit::kBytes,
             "0.92 x " + FormatQuantity(*best.gpu.memory_bytes, Unit::kBytes));
  answer.Add("memory_batch", best.memory_batch, Unit::kCount,
             "most sequences with weights + KV + activations + 1.5 GiB <= room");
  answer.Add("users", best.batch, Unit::kCount,
             "B: largest batch within both goals and memory; limited by " + best.limit);
  answer.Add("step", best.step, Unit::kSeconds,
             "decode step of B at c = input + output/2; see \"predict decode\"", best.source);
  answer.Add("prefill", best.prefill, Unit::kSeconds,
             "one prompt in chunks of 2048; see \"predict prefill\"");
  answer.Add("prefill_share", best.batch / goal.output * best.prefill / best.tpot, Unit::kFraction,
             "B/output x prefill / tpot: of the time");
  answer.Add("tpot", best.tpot, Unit::kSeconds, "step + B/output x prefill");
  answer.Add("ttft", best.ttft, Unit::kSeconds, "prefill + the step that is running; no queue");
  answer.Add("requests_per_second", best.requests, Unit::kPerSecond,
             "B / (output x tpot), one replica");
  answer.Add("tokens_per_second", tokens, Unit::kTokensPerSecond, "B / tpot, one replica");
  answer.Add("per_gpu", ServePerGpu(goal, best), Unit::kTokensPerSecond, "tokens per second / p");
  if (goal.rate) {
    answer.Add("replicas", best.replicas, Unit::kCount,
               "ceil(rate / (requests per second x utilisation))");
    answer.Add("gpus", best.gpus, Unit::kCount, "replicas x p");
  }
  if (best.price) {
    answer.Add("per_hour", best.per_hour, Unit::kMoneyPerHour, "GPUs x price");
    answer.Add("per_million_output", best.per_million, Unit::kMoney,
               goal.rate ? "per hour / (rate x output x 3600) x 1e6"
                         : "per hour / (tokens per second x utilisation x 3600) x 1e6");
    answer.Add("per_request", best.per_million * goal.output / 1e6, Unit::kMoney,
               "per million x output / 1e6; pays for the prompt too");
  }
}

std::string ServeHeadline(const ServeGoal& goal, const ServeOption& best) {
  std::string text = "A replica of " + std::to_string(best.tp) + " x " + best.gpu.name +
                     " serves " + FormatQuantity(best.batch, Unit::kCount) + " users at " +
                     ServeTime(best.tpot) + " per token, the first after " + ServeTime(best.ttft) +
                     ": " +
                     FormatQuantity(ServeTokensPerSecond(goal, best), Unit::kTokensPerSecond);
  if (goal.rate) {
    text += ". " + NumberText(*goal.rate) + " requests per second need " +
            FormatQuantity(best.replicas, Unit::kCount) +
            (best.replicas == 1 ? " replica, " : " replicas, ") +
            FormatQuantity(best.gpus, Unit::kCount) + (best.gpus == 1 ? " GPU" : " GPUs");
  }
  if (best.price) {
    text += ", at " + FormatQuantity(best.per_hour, Unit::kMoneyPerHour, goal.currency) + " and " +
            FormatQuantity(best.per_million, Unit::kMoney, goal.currency) +
            " per million output tokens";
  }
  return text + ".";
}

Result<ServeGoal> ReadServeGoal(const Arguments& arguments) {
  ServeGoal goal;
  goal.shape = arguments.Model();
  goal.serving.weights = arguments.Text("weights");
  goal.serving.kv = arguments.Text("kv");
  goal.input = arguments.Number("input_tokens");
  goal.output = arguments.Number("output_tokens");
  goal.ttft = arguments.Number("slo_ttft");
  goal.tpot = arguments.Number("slo_tpot");
  goal.max_batch = arguments.Number("max_batch");
  goal.efficiency = arguments.Number("efficiency");
  goal.utilisation = arguments.Number("utilisation");
  if (arguments.Has("rate")) goal.rate = arguments.Number("rate");
  goal.currency = arguments.currency();
  ASSAY_RETURN_IF_ERROR(CheckServingTokens("input_tokens", goal.input + 1, goal.shape));
  const auto positions = static_cast<double>(goal.shape.positions);
  if (goal.input + goal.output > positions) {
    return Refuse("output_tokens",
                  "input and output together are beyond the " +
                      FormatQuantity(positions, Unit::kCount) + " positions of " + goal.shape.name,
                  "give at most " + FormatQuantity(positions - goal.input, Unit::kCount));
  }
  return goal;
}

Result<Answer> ServePlanAnswer(const Arguments& arguments) {
  ASSAY_ASSIGN_OR_RETURN(const ServeGoal goal, ReadServeGoal(arguments));
  const std::vector<double> prices = arguments.PricePerGpu("price");
  std::vector<ServeOption> options;
  for (size_t i = 0; i < arguments.Gpus().size(); ++i) {
    const Hardware& gpu = arguments.Gpus()[i];
    const std::optional<double> price =
        prices.empty() ? std::nullopt : std::optional<double>(prices[i]);
    for (const double tp : arguments.Counts("tp")) {
      if (std::fmod(static_cast<double>(goal.shape.heads), tp) != 0) continue;
      options.push_back(TryServeOption(goal, gpu, static_cast<int64_t>(tp), price));
    }
  }
  if (options.empty()) {
    return Refuse(
        "tp",
        "none divides the " + std::to_string(goal.shape.heads) + " heads of " + goal.shape.name,
        "give 1 or another divisor");
  }
  DropSmallSizes(options);
  SortServeOptions(goal, options);
  const ServeOption& best = options.front();
  if (!best.problem.empty()) return RefuseServeGoals(goal, options);
  Answer answer;
  answer.currency = goal.currency;
  AddServeChoice(answer, goal, best);
  const bool any = arguments.Text("gpu") == "any";
  const size_t left_out = any ? KeepBestOfEach(options) : 0;
  answer.grids.push_back(ServeOptionGrid(goal, options));
  answer.dominant = best.batch / goal.output * best.prefill > best.step ? "prefill" : "step";
  answer.headline = ServeHeadline(goal, best);
  answer.notes.push_back(
      "Queueing is left out, and so are variable lengths and shared prefixes: the answer is the "
      "capacity of steady traffic. Measure p99 near the utilisation you plan with.");
  answer.notes.push_back(
      "TPOT is a mean: while a prompt is read, the other users wait. Memory counts the full length "
      "of every request. Sizes that do not fit are not listed where a larger one does.");
  if (best.source.find("sheet") != std::string::npos) {
    answer.notes.push_back(ServingSheetNote() + " --efficiency 0.7 plans with that.");
  }
  if (any) {
    answer.notes.push_back("The best choice of each GPU is listed; " +
                           Counted(static_cast<int64_t>(left_out), "other GPU") +
                           " cannot meet the goals. To see all sizes of a GPU, or accelerators "
                           "without CUDA, name them with --gpu.");
  }
  if (arguments.Has("price") && arguments.Counts("price").size() == 1 &&
      arguments.Gpus().size() > 1) {
    answer.notes.push_back(
        "One price stands for every GPU here. Give one for each, in their order.");
  }
  if (best.tp > 8) {
    answer.notes.push_back(
        "All-reduces are estimated as within one node; across nodes they are slower.");
  }
  if (best.link_source.find("assumed") != std::string::npos) {
    answer.notes.push_back("Between GPUs: " + best.link_source + ".");
  }
  return answer;
}

Topic ServePlanTopic() {
  Topic topic;
  topic.command = "plan";
  topic.name = "serve";
  topic.summary = "Find the GPUs that serve a model within latency goals, how many, at what cost";
  topic.about =
      "For each GPU and tensor-parallel size: the largest batch whose time per token (TPOT) and "
      "time to first token (TTFT) are within the goals and that fits in memory; then requests per "
      "second, replicas for a rate, and cost. A replica interleaves prefill and decode, so each "
      "request takes prefill + output x step / batch of its time. The first row is the cheapest, "
      "or without prices the one with the fewest GPUs for the rate, or most tokens per GPU.";
  topic.example =
      "--model llama-3-70b --gpu 'H100 SXM,H200 SXM' --input-tokens 1024 --output-tokens 256 "
      "--slo-ttft 500ms "
      "--slo-tpot 30ms --rate 20/s --price '2.50 USD,3.50 USD'";
  topic.inputs = {
      Input::Model().Required(),
      Input::Gpus(),
      Input::Of("input_tokens", Unit::kTokens)
          .Required()
          .AtLeast(1)
          .Help("prompt tokens of a request"),
      Input::Of("output_tokens", Unit::kTokens).Required().AtLeast(1).Help("tokens it generates"),
      Input::Of("slo_ttft", Unit::kSeconds).Default("500ms").Help("most time to the first token"),
      Input::Of("slo_tpot", Unit::kSeconds).Default("50ms").Help("most time per further token"),
      Input::Of("rate", Unit::kPerSecond).Help("requests per second to serve"),
      Input::Prices("price").Help("price of one GPU for one hour: one for all, or one for each"),
      Input::Counts("tp").Default("1..8").AtMost(128).Help("tensor-parallel sizes to try"),
      Input::Choice("weights", {"bf16", "fp16", "fp8", "int8", "int4"})
          .Default("bf16")
          .Help("type of the weights"),
      Input::Choice("kv", {"bf16", "fp16", "fp8", "int8", "int4"})
          .Default("bf16")
          .Help("type of the KV cache"),
      Input::Of("utilisation", Unit::kFraction)
          .Default("0.8")
          .Help("share of the capacity to plan with; the rest absorbs bursts"),
      Input::Of("efficiency", Unit::kFraction)
          .Default("1")
          .Help("share of the sheet's peak and bandwidth that is reached; 1 is the bound"),
      Input::Of("max_batch", Unit::kCount)
          .Default("1024")
          .AtMost(1e6)
          .Help("most sequences that the server runs at once")};
  topic.compute = ServePlanAnswer;
  return topic;
}

}  // namespace

std::vector<Topic> ServePlanTopics() { return {ServePlanTopic()}; }

}  // namespace assay::predict
