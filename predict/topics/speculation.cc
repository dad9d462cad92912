// The topics speculate and batching.
#include "predict/speculation.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "predict/step.h"
#include "predict/topics/topics.h"

namespace assay::predict {
namespace {

constexpr const char* kAssumedGpu = "H200 SXM";
constexpr int64_t kLeastGridK = 8;  // The grid shows at least K = 1 to 8.

// The costs of a pass, either given by the user or computed by the decode model.
class PassCosts {
 public:
  static Result<PassCosts> Of(const Arguments& arguments);

  // Returns the costs for this K and this batch.
  Result<PassCost> At(int64_t k, double batch) const;
  // Returns true if the costs depend on the batch.
  bool modelled() const { return modelled_; }
  bool gpu_is_assumed() const { return gpu_is_assumed_; }
  // Returns true if the vocabularies of the draft and target models differ in size, which suggests
  // that the models have different tokenizers.
  bool VocabulariesDiffer() const { return target_.vocab != draft_.vocab; }
  // Returns the largest batch that fits in memory, at most 65,536.
  double LargestBatch(int64_t k) const;
  const std::string& source() const { return source_; }

 private:
  Status CheckModels(const Arguments& arguments) const;

  bool modelled_ = false;
  bool gpu_is_assumed_ = false;
  double cost_ = 0;  // Draft step / target step, if not modelled.
  std::string source_ = "given";
  Hardware gpu_;
  ModelShape target_;
  ModelShape draft_;
  Serving target_serving_;
  Serving draft_serving_;
  double context_ = 0;
};

// Returns the bytes of weights that a decode step of one sequence reads.
double StepWeightBytes(const ModelShape& shape, const std::string& dtype) {
  const auto head = static_cast<double>(shape.vocab * shape.d);
  return (ReadParameters(shape, 1) - head) * BlockWeightBytes(dtype) +
         head * TableWeightBytes(dtype);
}

Status PassCosts::CheckModels(const Arguments& arguments) const {
  const double tp = arguments.Number("tp");
  for (const ModelShape* shape : {&target_, &draft_}) {
    if (shape->heads % static_cast<int64_t>(tp) != 0) {
      return Refuse("tp",
                    FormatQuantity(tp, Unit::kCount) + " does not divide the " +
                        std::to_string(shape->heads) + " heads of " + shape->name,
                    "choose a divisor of the heads, such as 1 or 2");
    }
    if (shape->positions > 0 && context_ > static_cast<double>(shape->positions)) {
      return Refuse("context",
                    FormatQuantity(context_, Unit::kTokens) + " exceed the " +
                        std::to_string(shape->positions) + " positions of " + shape->name,
                    "use at most " + std::to_string(shape->positions));
    }
  }
  return Status::Ok();
}

Result<PassCosts> PassCosts::Of(const Arguments& arguments) {
  PassCosts costs;
  if (!arguments.Has("target") && !arguments.Has("draft")) {
    if (!arguments.Has("cost")) {
      return Refuse("cost", "is required unless target and draft are given",
                    "such as cost=0.1 if the draft's step takes a tenth of the target's");
    }
    if (arguments.Given("batch")) {
      return Refuse("target", "is required with batch",
                    "give target, draft and gpu, or leave batch out");
    }
    costs.cost_ = arguments.Number("cost");
    return costs;
  }
  for (const char* name : {"target", "draft"}) {
    if (!arguments.Has(name)) {
      return Refuse(name, "is required", "give both target and draft, or cost without either");
    }
  }
  if (arguments.Has("cost")) {
    return Refuse("cost", "cannot be combined with target and draft, which determine it",
                  "give cost, or the models");
  }
  costs.target_ = arguments.Model("target");
  costs.draft_ = arguments.Model("draft");
  costs.context_ = arguments.Number("context");
  costs.target_serving_.tp = costs.draft_serving_.tp = static_cast<int64_t>(arguments.Number("tp"));
  costs.target_serving_.weights = arguments.Text("weights");
  costs.draft_serving_.weights = arguments.Text("draft_weights");
  ASSAY_RETURN_IF_ERROR(costs.CheckModels(arguments));
  const bool given = arguments.Has("gpu") || (arguments.Has("peak") && arguments.Has("bandwidth"));
  if (given || arguments.Given("batch")) {
    costs.modelled_ = true;
    costs.gpu_ = arguments.Gpu();
    costs.source_ = "decode model";
    if (given) return costs;
    // Without a GPU, the cost of a batch cannot be computed.
    ASSAY_ASSIGN_OR_RETURN(const GpuSpec* sheet, FindSheet(kAssumedGpu));
    costs.gpu_ = FromSheet(*sheet);
    costs.source_ += std::string(", ") + kAssumedGpu + " assumed";
    costs.gpu_is_assumed_ = true;
    return costs;
  }
  costs.cost_ = StepWeightBytes(costs.draft_, costs.draft_serving_.weights) /
                StepWeightBytes(costs.target_, costs.target_serving_.weights);
  costs.source_ = "weights read per step";
  return costs;
}

Result<PassCost> PassCosts::At(int64_t k, double batch) const {
  if (!modelled_) return PassCost{1, cost_, 1};
  PassCost cost;
  ASSAY_ASSIGN_OR_RETURN(const StepTime target,
                         DecodeStep(gpu_, target_, target_serving_, batch, context_));
  ASSAY_ASSIGN_OR_RETURN(const StepTime draft,
                         DecodeStep(gpu_, draft_, draft_serving_, batch, context_));
  ASSAY_ASSIGN_OR_RETURN(const StepTime verify, DecodeStep(gpu_, target_, target_serving_, batch,
                                                           context_, static_cast<double>(k + 1)));
  cost.target_step = target.seconds;
  cost.draft_step = draft.seconds;
  cost.verify = verify.seconds;
  return cost;
}

double PassCosts::LargestBatch(int64_t k) const {
  constexpr double kMostSearched = 65536;
  if (!modelled_ || !gpu_.memory_bytes) return kMostSearched;
  const double room = *gpu_.memory_bytes * kUsableMemory;
  double low = 0;
  double high = kMostSearched + 1;
  while (high - low > 1) {
    const double batch = std::floor((low + high) / 2);
    const double tokens = batch * static_cast<double>(k + 1);
    const MemoryNeed target = ServingMemory(target_, target_serving_, batch, context_, tokens);
    const MemoryNeed draft = ServingMemory(draft_, draft_serving_, batch, context_, batch);
    (target.total + draft.total - draft.reserve <= room ? low : high) = batch;
  }
  return low;
}

// The K of a range that gives the greatest speed-up.
struct BestDraft {
  int64_t k = 1;
  double speed_up = 0;
};

Result<BestDraft> FindBestDraft(const PassCosts& costs, double alpha, int64_t least, int64_t most,
                                double batch) {
  BestDraft best;
  for (int64_t k = least; k <= most; ++k) {
    ASSAY_ASSIGN_OR_RETURN(const PassCost cost, costs.At(k, batch));
    const double speed_up = SpeculativeSpeedUp(alpha, k, cost);
    if (speed_up > best.speed_up) best = {k, speed_up};
  }
  return best;
}

// Returns the smallest batch, up to `most`, at which speculative decoding is not faster for any K
// from `least_k` to `most_k`, or nullopt if there is none. Doubles the batch until there is no
// speed-up, then bisects. Starts with small batches, because there may again be a speed-up at very
// large ones, where reading the cache dominates.
Result<std::optional<double>> FindStop(const PassCosts& costs, double alpha, int64_t least_k,
                                       int64_t most_k, double most) {
  const auto gains = [&](double batch) -> Result<bool> {
    ASSAY_ASSIGN_OR_RETURN(const BestDraft best,
                           FindBestDraft(costs, alpha, least_k, most_k, batch));
    return best.speed_up > 1;
  };
  double low = 0;
  double high = 1;
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(const bool high_gains, gains(high));
    if (!high_gains) break;
    if (high >= most) return std::optional<double>();
    low = high;
    high = std::min(2 * high, most);
  }
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    ASSAY_ASSIGN_OR_RETURN(const bool middle_gains, gains(middle));
    (middle_gains ? low : high) = middle;
  }
  return std::optional<double>(high);
}

Result<double> ReadAlpha(const Arguments& arguments, int64_t k, Answer& answer) {
  if (arguments.Has("alpha") == arguments.Has("rate")) {
    return Refuse("alpha",
                  arguments.Has("alpha") ? "cannot be combined with rate"
                                         : "is required unless rate is given",
                  "give alpha, the probability that a token is accepted after accepted ones, or "
                  "rate, accepted/drafted tokens");
  }
  if (arguments.Has("alpha")) {
    const double alpha = arguments.Number("alpha");
    answer.Add("alpha", alpha, Unit::kFraction, "acceptance per token", "given");
    answer.Add("rate", AcceptanceRate(alpha, k), Unit::kFraction,
               "alpha (1 - alpha^K)/(1 - alpha)/K: accepted/drafted", "Leviathan 2022");
    return alpha;
  }
  const double rate = arguments.Number("rate");
  answer.Add("rate", rate, Unit::kFraction, "accepted/drafted", "given");
  return answer.Add("alpha", AlphaOfRate(rate, k), Unit::kFraction,
                    "rate = alpha (1 - alpha^K)/(1 - alpha)/K, by bisection", "Leviathan 2022");
}

// Returns a table of the speed-up by batch and K.
Result<Grid> SpeculationGrid(const PassCosts& costs, double alpha, int64_t most,
                             const std::vector<double>& batches) {
  Grid grid;
  grid.title = "Speed-up by batch and K";
  grid.columns = {{"batch", Unit::kCount}};
  if (costs.modelled()) {
    grid.columns.push_back({"target_step", Unit::kSeconds});
    grid.columns.push_back({"draft_step", Unit::kSeconds});
  }
  for (int64_t k = 1; k <= most; ++k) {
    grid.columns.push_back({"k_" + std::to_string(k), Unit::kNumber});
  }
  grid.columns.push_back({"best_k", Unit::kCount});
  for (const double batch : batches) {
    std::vector<Grid::Cell> row = {batch};
    BestDraft best;
    for (int64_t k = 1; k <= most; ++k) {
      ASSAY_ASSIGN_OR_RETURN(const PassCost cost, costs.At(k, batch));
      if (k == 1 && costs.modelled()) {
        row.emplace_back(cost.target_step);
        row.emplace_back(cost.draft_step);
      }
      const double speed_up = SpeculativeSpeedUp(alpha, k, cost);
      if (speed_up > best.speed_up) best = {k, speed_up};
      row.emplace_back(speed_up);
    }
    row.emplace_back(static_cast<double>(best.k));
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

// Returns an error if a batch does not fit in memory together with both models.
Status CheckSpeculationMemory(const PassCosts& costs, int64_t k,
                              const std::vector<double>& batches) {
  const double fits = costs.LargestBatch(k);
  if (fits < 1) {
    return Refuse("gpu", "target, draft and the cache of one sequence do not fit in its memory",
                  "use a GPU with more memory, more GPUs (tp), smaller weights or a shorter "
                  "context");
  }
  const double largest = *std::max_element(batches.begin(), batches.end());
  if (largest <= fits) return Status::Ok();
  return Refuse("batch",
                FormatQuantity(largest, Unit::kCount) +
                    " sequences do not fit with both models; at this context " +
                    FormatQuantity(fits, Unit::kCount) + " do",
                "use a batch of at most " + FormatQuantity(fits, Unit::kCount) +
                    ", a shorter context or more GPUs (tp)");
}

// Adds the alphas at which this cost breaks even and at which it reaches the goal, if one is given.
void AddNeededAlphas(const Arguments& arguments, int64_t k, const PassCost& cost, Answer& answer) {
  const double ratio = cost.Pass(k) / cost.target_step;
  if (const std::optional<double> least = LeastAlpha(ratio, k)) {
    answer.Add("least_alpha", *least, Unit::kFraction, "speed-up = 1, by bisection");
  } else {
    answer.notes.push_back("With this K it does not pay even if every drafted token is accepted.");
  }
  if (!arguments.Has("goal")) return;
  const double goal = arguments.Number("goal");
  if (const std::optional<double> least = LeastAlpha(goal * ratio, k)) {
    answer.Add("alpha_for_goal", *least, Unit::kFraction, "speed-up = goal, by bisection");
  } else {
    answer.notes.push_back("No alpha reaches the goal: the speed-up is at most " +
                           FormatQuantity(static_cast<double>(k + 1) / ratio, Unit::kNumber) +
                           " with this K.");
  }
}

// Adds the batches from which speculation gives no speed-up, with this K and with any K.
Status AddStops(const PassCosts& costs, double alpha, int64_t k, int64_t most_k, Answer& answer) {
  const double fits = costs.LargestBatch(k);
  const std::string limit =
      "up to " + FormatQuantity(fits, Unit::kCount) + ", the largest looked at.";
  ASSAY_ASSIGN_OR_RETURN(const std::optional<double> own, FindStop(costs, alpha, k, k, fits));
  if (!own) {
    answer.notes.push_back("With this K it gains at every batch " + limit);
    return Status::Ok();
  }
  answer.Add("stops_paying_at", *own, Unit::kCount, "least batch at which this K does not gain");
  ASSAY_ASSIGN_OR_RETURN(const BestDraft largest, FindBestDraft(costs, alpha, k, k, fits));
  if (largest.speed_up > 1) {
    answer.notes.push_back(
        "With this K it gains again at larger batches, where reading the cache, "
        "which a pass does once, takes most of the time.");
  }
  ASSAY_ASSIGN_OR_RETURN(const std::optional<double> any, FindStop(costs, alpha, 1, most_k, fits));
  if (any) {
    answer.Add("any_k_stops_paying_at", *any, Unit::kCount, "least batch at which no K gains");
  } else {
    answer.notes.push_back("With its best K it gains at every batch " + limit);
  }
  return Status::Ok();
}

Result<Answer> SpeculateAnswer(const Arguments& arguments) {
  const auto k = static_cast<int64_t>(arguments.Number("k"));
  const std::vector<double>& batches = arguments.Counts("batch");
  const int64_t most_k = std::max(k, kLeastGridK);
  ASSAY_ASSIGN_OR_RETURN(const PassCosts costs, PassCosts::Of(arguments));
  ASSAY_RETURN_IF_ERROR(CheckSpeculationMemory(costs, k, batches));
  Answer answer;
  ASSAY_ASSIGN_OR_RETURN(const double alpha, ReadAlpha(arguments, k, answer));
  ASSAY_ASSIGN_OR_RETURN(const PassCost cost, costs.At(k, batches.front()));
  if (costs.modelled()) {
    answer.Add("target_step", cost.target_step, Unit::kSeconds, "t_target(B)", costs.source());
    answer.Add("draft_step", cost.draft_step, Unit::kSeconds, "t_draft(B)", costs.source());
    answer.Add("verify", cost.verify, Unit::kSeconds, "t_target at B (K + 1) rows", costs.source());
    answer.Add("pass", cost.Pass(k), Unit::kSeconds, "K t_draft + verify");
    answer.dominant =
        cost.verify > static_cast<double>(k) * cost.draft_step ? "verify" : "draft_step";
  }
  const double c = answer.Add("cost", cost.draft_step / cost.target_step, Unit::kNumber,
                              "c = draft step / target step", costs.source());
  const double tokens = answer.Add("tokens", TokensPerPass(alpha, k), Unit::kTokens,
                                   "(1 - alpha^(K+1))/(1 - alpha) per pass", "Leviathan 2022");
  const double speed_up = answer.Add(
      "speed_up", SpeculativeSpeedUp(alpha, k, cost), Unit::kNumber,
      costs.modelled() ? "E t_target / (K t_draft + verify)" : "E/(1 + K c)", "Leviathan 2022");
  answer.Add("operations", static_cast<double>(k + 1) / tokens, Unit::kNumber,
             "(K + 1)/E: target's FLOPs per token, relative", "Leviathan 2022");
  const double drafted = static_cast<double>(k) * alpha;
  answer.Add("simple", drafted / (1 + static_cast<double>(k) * c), Unit::kNumber,
             "K alpha/(1 + K/r): counts tokens behind a rejected one");
  answer.Add("lens", drafted / (drafted * c + 1), Unit::kNumber, "alpha K/(alpha K c + 1)");
  AddNeededAlphas(arguments, k, cost, answer);
  ASSAY_ASSIGN_OR_RETURN(const BestDraft best,
                         FindBestDraft(costs, alpha, 1, most_k, batches.front()));
  answer.Add("best_k", static_cast<double>(best.k), Unit::kCount,
             "K from 1 to " + std::to_string(most_k) + " with the greatest speed-up");
  answer.Add("best_speed_up", best.speed_up, Unit::kNumber, "speed-up at the best K");
  answer.headline =
      FormatQuantity(tokens, Unit::kTokens) + " per pass, " +
      FormatQuantity(speed_up, Unit::kNumber) + "x as fast as without a draft" +
      (costs.modelled() ? " at batch " + FormatQuantity(batches.front(), Unit::kCount) : "") +
      "; the best K is " + std::to_string(best.k) + ".";
  if (costs.modelled()) {
    ASSAY_RETURN_IF_ERROR(AddStops(costs, alpha, k, most_k, answer));
  } else {
    answer.notes.push_back(
        "Assumes that the verify pass takes as long as a step of one token, which holds at small "
        "batches only. Give target, draft, gpu and batch for others.");
  }
  ASSAY_ASSIGN_OR_RETURN(
      Grid grid,
      SpeculationGrid(costs, alpha, most_k, costs.modelled() ? batches : std::vector<double>{1}));
  answer.grids.push_back(std::move(grid));
  if (costs.gpu_is_assumed()) {
    answer.notes.push_back("No GPU was given: assumes one H200 SXM. Give yours with --gpu.");
  }
  if (costs.VocabulariesDiffer()) {
    answer.notes.push_back(
        "The vocabularies differ in size. Speculation needs the same tokenizer; check that only "
        "the padding differs.");
  }
  answer.notes.push_back(
      "Assumes that each token is accepted with the same probability, independently. Leaves out "
      "sampling and the prefill of the draft's cache.");
  return answer;
}

Topic SpeculateTopic() {
  Topic topic;
  topic.name = "speculate";
  topic.summary = "Predict the gain of speculative decoding";
  topic.about =
      "A draft model proposes K tokens and the target verifies them in one pass. The gain depends "
      "on the acceptance per token (alpha), which is more than accepted/drafted (rate), and on the "
      "cost of both models, from the decode model or given.";
  topic.example =
      "--target llama-3-8b --draft llama-3.2-1b --gpu \"H200 SXM\" --k 5 --alpha 0.8 --batch 1..64";
  const std::vector<std::string> weights = {"bf16", "fp16", "fp8", "int8", "int4"};
  topic.inputs = {
      Input::Model("target").Help("model that answers, of \"assay model list\""),
      Input::Model("draft").Help("smaller model with the same tokenizer"),
      Input::Gpu().Help("GPU, such as \"H100 SXM\"; with batch but no GPU, H200 SXM is assumed"),
      Input::Of("k", Unit::kCount)
          .Default("5")
          .AtLeast(1)
          .AtMost(32)
          .Help("drafted tokens per pass"),
      Input::Of("alpha", Unit::kFraction)
          .AtLeast(0)
          .Help("probability that a token is accepted if those before it were"),
      Input::Of("rate", Unit::kFraction).AtLeast(0).Help("accepted/drafted tokens, as servers log"),
      Input::Of("cost", Unit::kNumber)
          .AtLeast(0)
          .AtMost(1e6)
          .Help("draft step / target step, instead of the models"),
      Input::Of("goal", Unit::kNumber)
          .AtMost(1e6)
          .Help("speed-up to be reached; prints the alpha that it needs"),
      Input::Counts("batch").Default("1").AtLeast(1).AtMost(65536).Help(
          "sequences per step, such as 1..64"),
      Input::Of("context", Unit::kTokens)
          .Default("1024")
          .AtLeast(1)
          .AtMost(1e9)
          .Help("tokens in the cache of each sequence"),
      Input::Of("tp", Unit::kCount).Default("1").AtMost(64).Help("tensor-parallel GPUs"),
      Input::Choice("weights", weights).Default("bf16").Help("type of the target's weights"),
      Input::Choice("draft_weights", weights).Default("bf16").Help("type of the draft's weights")};
  for (Input& input : HardwareInputs({"peak", "bandwidth", "link", "both_directions", "memory"})) {
    topic.inputs.push_back(std::move(input));
  }
  topic.compute = SpeculateAnswer;
  return topic;
}

Result<Answer> BatchingAnswer(const Arguments& arguments) {
  const double mean = arguments.Number("mean");
  const double longest = arguments.Number("longest");
  if (mean > longest) {
    return Refuse("mean", "must not exceed longest", "give the mean of the same lengths");
  }
  Answer answer;
  const double use = answer.Add("static_use", mean / longest, Unit::kFraction,
                                "mean / longest: slots that work in a static batch");
  answer.Add("idle", 1 - use, Unit::kFraction, "1 - use");
  const double gain =
      answer.Add("continuous_gain", longest / mean, Unit::kNumber, "at most longest / mean");
  answer.headline = "A static batch uses " + FormatQuantity(use, Unit::kFraction) +
                    " of its slots; continuous batching gains at most " +
                    FormatQuantity(gain, Unit::kNumber) + "x.";
  answer.notes.push_back(
      "Leaves out that a fuller batch makes each step slower, and time for prefill. Lengths are "
      "those of the outputs in one batch.");
  return answer;
}

Topic BatchingTopic() {
  Topic topic;
  topic.name = "batching";
  topic.summary = "Bound what continuous batching gains over static batches";
  topic.about =
      "A static batch runs until its longest answer ends, and finished sequences leave their slots "
      "idle.";
  topic.example = "--mean 200 --longest 800";
  topic.inputs = {Input::Of("mean", Unit::kTokens).Required().Help("mean output length"),
                  Input::Of("longest", Unit::kTokens).Required().Help("longest output of a batch")};
  topic.compute = BatchingAnswer;
  return topic;
}

}  // namespace

std::vector<Topic> SpeculationTopics() { return {SpeculateTopic(), BatchingTopic()}; }

}  // namespace assay::predict
