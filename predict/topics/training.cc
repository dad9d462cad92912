// Topics about the theory of training: FLOPs, utilization, memory, and rules for sizes and rates.
#include "predict/training.h"

#include <cmath>
#include <string>
#include <utility>

#include "predict/topics/sizes.h"
#include "predict/topics/topics.h"

namespace assay::predict {
namespace {

constexpr char kKaplan2020[] = "Kaplan 2020";
constexpr char kHoffmann2022[] = "Hoffmann 2022";
constexpr char kKorthikanti2022[] = "Korthikanti 2022";
constexpr char kRajbhandari2020[] = "Rajbhandari 2020";

// Returns an error if the sequence exceeds the model's number of positions.
Status CheckTrainedSequence(const ModelShape& shape, double sequence) {
  if (sequence <= static_cast<double>(shape.positions)) return Status::Ok();
  const std::string most = FormatQuantity(static_cast<double>(shape.positions), Unit::kCount);
  return Refuse("sequence",
                "is longer than the " + most + " positions that " + shape.name + " was made for",
                "give at most " + most);
}

// Returns the training FLOPs per token of the model that the user named. If the user gave a number
// of parameters instead, the inputs "layers" and "width" determine the attention FLOPs.
Result<TokenFlops> TokenFlopsOf(const Arguments& arguments, const ModelSize& size,
                                Recompute recompute) {
  if (size.shape != nullptr) {
    for (const char* input : {"layers", "width"}) {
      if (arguments.Has(input)) return Refuse(input, "is known from the model", "leave it out");
    }
    if (!arguments.Has("sequence")) {
      return Refuse("sequence", "is required with a model", "tokens per sequence, such as 4096");
    }
    const double sequence = arguments.Number("sequence");
    ASSAY_RETURN_IF_ERROR(CheckTrainedSequence(*size.shape, sequence));
    return TrainingFlops(*size.shape, sequence, recompute);
  }
  const bool attention = arguments.Has("layers") || arguments.Has("width");
  for (const char* input : {"layers", "width", "sequence"}) {
    if (attention && !arguments.Has(input)) {
      return Refuse(input, "is required for the FLOPs of attention",
                    "give layers, width and sequence, or none of them");
    }
  }
  if (!attention) return TrainingFlops(size.parameters, 0, 0, 1, recompute);
  return TrainingFlops(size.parameters, arguments.Number("layers"), arguments.Number("width"),
                       arguments.Number("sequence"), recompute);
}

std::vector<Input> AttentionInputs() {
  return {Input::Of("layers", Unit::kCount).Help("layers, with --parameters"),
          Input::Of("width", Unit::kCount)
              .Help("heads x head_dim, usually d; with --parameters and --layers"),
          Input::Of("sequence", Unit::kCount)
              .Help("tokens per sequence; decides the FLOPs of attention")};
}

Result<Answer> UtilisationAnswer(const Arguments& arguments) {
  ASSAY_ASSIGN_OR_RETURN(const ModelSize size, ModelSizeOf(arguments));
  const Recompute recompute = RecomputeOf(arguments);
  ASSAY_ASSIGN_OR_RETURN(const TokenFlops flops, TokenFlopsOf(arguments, size, recompute));
  ASSAY_ASSIGN_OR_RETURN(const Figure peak, RequiredPeak(arguments.Gpu(), arguments.Text("dtype")));
  const double rate = arguments.Number("tokens_per_second");
  const auto share = [&](double per_token) { return per_token * (rate / peak.value); };
  if (share(flops.hfu) > 1) {
    return Refuse(
        "tokens_per_second",
        FormatQuantity(rate, Unit::kTokensPerSecond) + " per GPU would be " +
            FormatQuantity(share(flops.hfu), Unit::kFraction) + " of the dense peak of " +
            FormatQuantity(peak.value, Unit::kFlopPerSecond),
        "at most " + FormatQuantity(peak.value / flops.hfu, Unit::kTokensPerSecond) +
            " per GPU are possible; check that the rate is of one GPU, that the peak is of this "
            "GPU, and that the rate is of training (inference takes a third of the FLOPs)");
  }
  Answer answer;
  answer.Add("peak", peak.value, Unit::kFlopPerSecond, "dense", peak.source);
  answer.Add("flops_per_token", flops.mfu, Unit::kFlop, "6 N_mm + 6 L h e T");
  answer.Add("achieved", flops.mfu * rate, Unit::kFlopPerSecond, "FLOPs per token x tok/s per GPU");
  answer.Add("mfu_full", share(flops.mfu_full), Unit::kFraction, "6 N + 12 L h e T",
             "Chowdhery 2022 (PaLM)");
  answer.Add("mfu_6n", share(flops.mfu_6n), Unit::kFraction, "6 N", kKaplan2020);
  answer.Add("hfu", share(flops.hfu), Unit::kFraction, "mfu, with recomputed FLOPs",
             kKorthikanti2022);
  answer.Add("llm_c", share(flops.llm_c), Unit::kFraction, "6 N + 6 L d T", "llm.c@f1e2ace6");
  answer.Add("nanogpt", share(flops.nanogpt), Unit::kFraction, "6 (N - P d) + 12 L h e T",
             "nanoGPT@3adf61e1");
  answer.Add("megatron", share(flops.megatron), Unit::kFraction,
             "6 N_mm + 6 L h e T, V padded to a multiple of 128", "Megatron-LM@d98e8a64");
  answer.Add("llm_foundry", share(flops.foundry), Unit::kFraction, "3 (2 N T + 4 L d T^2) / T",
             "llm-foundry@8c8dd48f");
  answer.Add("inference_utilisation", share(size.active * 2), Unit::kFraction,
             "2 N; only for inference", kKaplan2020);
  const double mfu = answer.Add("mfu", share(flops.mfu), Unit::kFraction,
                                "(6 N_mm + 6 L h e T) x tok/s / peak", "causal half of attention");
  answer.headline = "MFU is " + FormatQuantity(mfu, Unit::kFraction) + " of the dense peak, " +
                    FormatQuantity(share(flops.mfu_6n), Unit::kFraction) + " by 6 N alone.";
  answer.notes.push_back(
      "Definitions differ in the parameters that count and in the half of attention that a causal "
      "mask removes: compare figures only under one name.");
  if (share(flops.mfu_full) > 1) {
    answer.notes.push_back(
        "mfu_full is above 100% because it counts FLOPs that causal attention "
        "does not do.");
  }
  return answer;
}

Topic UtilisationTopic() {
  Topic topic;
  topic.name = "mfu";
  topic.summary = "Compute the utilisation of a training run from its tokens per second";
  topic.about =
      "MFU is the share of the GPU's dense peak that the model's own FLOPs reach. The rate is per "
      "GPU. Without a peak there is no MFU; above 100% the inputs are wrong.";
  topic.example = "--model gpt2 --sequence 1024 --gpu A100-SXM4-80GB --tokens-per-second 218453";
  topic.inputs = SizeInputs();
  AppendInputs(topic.inputs, AttentionInputs());
  AppendInputs(topic.inputs, {Input::Of("tokens_per_second", Unit::kTokensPerSecond)
                                  .Required()
                                  .Help("tokens trained per second and GPU"),
                              Input::Gpu(),
                              Input::Choice("dtype", {"bf16", "fp16", "tf32", "fp32", "fp8"})
                                  .Default("bf16")
                                  .Help("type of the matrix products"),
                              RecomputeInput()});
  AppendInputs(topic.inputs, HardwareInputs({"peak"}));
  topic.compute = UtilisationAnswer;
  return topic;
}

void AddBlockFlops(Answer& answer, const ModelShape& shape, double sequence) {
  const auto d = static_cast<double>(shape.d);
  const auto width = static_cast<double>(shape.heads * shape.head_dim);
  const auto kv_width = static_cast<double>(shape.kv_heads * shape.head_dim);
  const double mlp = (shape.kind == "gpt2" ? 2 : 3) * static_cast<double>(shape.ff) +
                     3 * static_cast<double>(shape.active_experts * shape.expert_ff);
  answer.Add("block_projections", 4 * d * (width + kv_width), Unit::kFlop, "4 d (h + g) e");
  answer.Add("block_mlp", 2 * d * mlp, Unit::kFlop, "2 (2|3) d f");
  answer.Add("block_attention", 4 * sequence * width, Unit::kFlop, "4 T h e, without a mask");
}

Result<Answer> FlopsAnswer(const Arguments& arguments) {
  ASSAY_ASSIGN_OR_RETURN(const ModelSize size, ModelSizeOf(arguments));
  ASSAY_ASSIGN_OR_RETURN(const TokenFlops flops, TokenFlopsOf(arguments, size, Recompute::kNone));
  Answer answer;
  answer.Add("parameters", size.active, Unit::kParameters, "N, active ones");
  if (size.shape != nullptr) {
    answer.Add("multiplying", static_cast<double>(MultiplyingParameters(*size.shape)),
               Unit::kParameters, "N_mm = L (d h e + 2 d g e + h e d + (3|2) d f) + V d");
    AddBlockFlops(answer, *size.shape, arguments.Number("sequence"));
  }
  answer.Add("forward_per_token", flops.forward, Unit::kFlop, "2 N_mm + 2 L h e T", kKaplan2020);
  answer.Add("forward_unmasked", flops.forward + (flops.mfu_full - flops.mfu_6n) / 6, Unit::kFlop,
             "2 N_mm + 4 L h e T");
  answer.Add("training_per_token", flops.mfu, Unit::kFlop, "3 x forward", kKaplan2020);
  answer.Add("short_forward", 2 * size.active, Unit::kFlop, "2 N", kKaplan2020);
  answer.Add("short_training", 6 * size.active, Unit::kFlop, "6 N", kKaplan2020);
  answer.headline = "Training takes " + FormatQuantity(flops.mfu, Unit::kFlop) + " per token.";
  if (arguments.Has("tokens")) {
    const double tokens = arguments.Number("tokens");
    answer.Add("exact", flops.mfu * tokens, Unit::kFlop, "3 x forward x D");
    answer.Add("inference_tokens", 3 * tokens, Unit::kTokens, "6 N D = 2 N x 3 D", kKaplan2020);
    const double total =
        answer.Add("flops", 6 * size.active * tokens, Unit::kFlop, "C = 6 N D", kKaplan2020);
    answer.headline = "Training on " + FormatQuantity(tokens, Unit::kTokens) + " takes " +
                      FormatQuantity(total, Unit::kFlop) + ".";
  }
  if (arguments.Has("budget")) {
    const double tokens =
        answer.Add("tokens_for_budget", arguments.Number("budget") / (6 * size.active),
                   Unit::kTokens, "D = C/(6 N)", kKaplan2020);
    answer.headline = FormatQuantity(arguments.Number("budget"), Unit::kFlop) + " train on " +
                      FormatQuantity(tokens, Unit::kTokens) + ".";
  }
  answer.notes.push_back(
      "Left out: norms, softmax, activation functions and the optimizer, together below 1%.");
  return answer;
}

Topic FlopsTopic() {
  Topic topic;
  topic.name = "flops";
  topic.summary = "Count the FLOPs of a model per token, of a training run, and what a budget buys";
  topic.about =
      "The exact count follows the model's shape. The short forms 2 N and 6 N leave out attention "
      "and count tables that only look up.";
  topic.example = "--model llama-3-8b --sequence 8192 --tokens 15T";
  topic.inputs = SizeInputs();
  AppendInputs(topic.inputs, AttentionInputs());
  AppendInputs(
      topic.inputs,
      {Input::Of("tokens", Unit::kTokens).Help("tokens to train on"),
       Input::Of("budget", Unit::kFlop).AtMost(1e30).Help("FLOPs to spend, such as 6e17")});
  topic.compute = FlopsAnswer;
  return topic;
}

Result<Answer> TrainingMemoryAnswer(const Arguments& arguments) {
  ASSAY_ASSIGN_OR_RETURN(const ModelSize size, ModelSizeOf(arguments));
  const int zero = arguments.Text("zero")[0] - '0';
  const Parallelism parallelism{arguments.Number("tp"), arguments.Number("pp"),
                                arguments.Number("dp"), zero};
  const bool mixed = arguments.Text("precision") == "mixed";
  const TrainingState state =
      TrainingStateOf(size.parameters, parallelism, mixed ? Precision::kMixed : Precision::kFp32);
  Answer answer;
  answer.Add("parameters", size.parameters, Unit::kParameters, "N, all experts");
  answer.Add("weights", state.weights, Unit::kBytes,
             std::string(mixed ? "2" : "4") + " N/(p pp)" + (zero >= 3 ? "/n" : ""),
             kRajbhandari2020);
  answer.Add("gradients", state.gradients, Unit::kBytes,
             std::string(mixed ? "2" : "4") + " N/(p pp)" + (zero >= 2 ? "/n" : ""),
             kRajbhandari2020);
  answer.Add("optimizer", state.optimizer, Unit::kBytes,
             std::string(mixed ? "12" : "8") + " N/(p pp)" + (zero >= 1 ? "/n" : ""),
             kRajbhandari2020);
  answer.Add("bytes_per_parameter", state.Total() / size.parameters, Unit::kNumber, "total / N");
  const double total = answer.Add("total", state.Total(), Unit::kBytes,
                                  "weights + gradients + optimizer, per GPU", kRajbhandari2020);
  answer.dominant = "optimizer";
  if (state.weights > state.optimizer) answer.dominant = "weights";
  if (state.gradients > state.optimizer && zero < 2) answer.dominant = "gradients";
  answer.headline = "Each GPU holds " + FormatQuantity(total, Unit::kBytes) +
                    " of weights, gradients and optimizer state.";
  answer.notes.push_back(
      "Left out: activations (see activations and train), buffers of communication, and "
      "fragmentation.");
  return answer;
}

Input ZeroStageInput(const std::string& fallback) {
  return Input::Choice("zero", {"0", "1", "2", "3"})
      .Default(fallback)
      .Help("ZeRO stage: 1 divides the optimizer, 2 gradients too, 3 (FSDP) weights too");
}

Topic TrainingMemoryTopic() {
  Topic topic;
  topic.name = "training-memory";
  topic.summary = "Compute the memory of weights, gradients and optimizer per GPU";
  topic.about =
      "Adam with mixed precision takes 16 bytes per parameter: 2 for weights, 2 for gradients, 12 "
      "for the fp32 master copy, momentum and variance. ZeRO divides them over the dp ranks.";
  topic.example = "--parameters 7.5B --dp 64 --zero 1";
  topic.inputs = SizeInputs();
  AppendInputs(
      topic.inputs,
      {ZeroStageInput("0"), Input::Of("dp", Unit::kCount).Default("1").Help("data-parallel ranks"),
       Input::Of("tp", Unit::kCount).Default("1").Help("tensor-parallel ranks"),
       Input::Of("pp", Unit::kCount).Default("1").Help("pipeline stages"),
       Input::Choice("precision", {"mixed", "fp32"})
           .Default("mixed")
           .Help("mixed: 16-bit weights and gradients with an fp32 copy")});
  topic.compute = TrainingMemoryAnswer;
  return topic;
}

// The block whose activations the user asks about, and its number of layers.
struct ActivationBlock {
  ActivationShape shape;
  double layers = 0;
  double d = 0;
};

Result<ActivationBlock> ActivationBlockOf(const Arguments& arguments) {
  if (arguments.Has("model")) {
    for (const char* input : {"layers", "d", "heads"}) {
      if (arguments.Has(input)) return Refuse(input, "is known from the model", "leave it out");
    }
    const ModelShape& shape = arguments.Model();
    ASSAY_RETURN_IF_ERROR(CheckTrainedSequence(shape, arguments.Number("sequence")));
    return ActivationBlock{ActivationsOf(shape), static_cast<double>(shape.layers),
                           static_cast<double>(shape.d)};
  }
  for (const char* input : {"layers", "d", "heads"}) {
    if (!arguments.Has(input)) {
      return Refuse(input, "is required without a model",
                    "give a model, or layers, d and heads of a GPT");
    }
  }
  return ActivationBlock{GptActivations(arguments.Number("d"), arguments.Number("heads")),
                         arguments.Number("layers"), arguments.Number("d")};
}

Result<Answer> ActivationsAnswer(const Arguments& arguments) {
  ASSAY_ASSIGN_OR_RETURN(const ActivationBlock block, ActivationBlockOf(arguments));
  ActivationPlan plan;
  plan.batch = arguments.Number("batch");
  plan.sequence = arguments.Number("sequence");
  plan.tp = arguments.Number("tp");
  plan.sequence_parallel = arguments.Flag("sequence_parallel");
  plan.flash = arguments.Flag("flash");
  plan.recompute = RecomputeOf(arguments);
  if (std::fmod(block.shape.heads, plan.tp) != 0) {
    return Refuse("tp",
                  FormatQuantity(block.shape.heads, Unit::kCount) + " heads are not divisible by " +
                      FormatQuantity(plan.tp, Unit::kCount),
                  "choose a divisor of the heads");
  }
  ActivationPlan all = plan;
  all.flash = false;
  all.recompute = Recompute::kNone;
  const double whole = ActivationBytesPerLayer(block.shape, all);
  const double per_layer = ActivationBytesPerLayer(block.shape, plan);
  const double tokens = plan.batch * plan.sequence;
  Answer answer;
  answer.Add("scores", 5 * block.shape.heads * plan.sequence * tokens / plan.tp, Unit::kBytes,
             "5 h B T^2 / p per layer, if kept", kKorthikanti2022);
  answer.Add("rest",
             tokens * (block.shape.whole / (plan.sequence_parallel ? plan.tp : 1) +
                       block.shape.divided / plan.tp),
             Unit::kBytes,
             plan.sequence_parallel ? "34 B T d / p per layer" : "B T d (10 + 24/p) per layer",
             kKorthikanti2022);
  answer.Add("per_layer_keeping_all", whole, Unit::kBytes, "rest + scores", kKorthikanti2022);
  answer.Add("per_layer", per_layer, Unit::kBytes,
             plan.recompute == Recompute::kFull ? "2 B T d" : "rest, + scores if kept",
             kKorthikanti2022);
  answer.Add("saved", 1 - per_layer / whole, Unit::kFraction, "1 - per layer / keeping all");
  answer.Add("recomputed", plan.recompute == Recompute::kFull ? 1.0 / 3 : 0, Unit::kFraction,
             "FLOPs of another forward pass of the blocks / 3 forward passes", kKorthikanti2022);
  const double total = answer.Add("total", per_layer * block.layers, Unit::kBytes,
                                  "L x per layer, per GPU", kKorthikanti2022);
  answer.dominant = plan.recompute == Recompute::kNone && !plan.flash &&
                            answer.Find("scores")->value > answer.Find("rest")->value
                        ? "scores"
                        : "rest";
  answer.headline = "The layers keep " + FormatQuantity(total, Unit::kBytes) +
                    " of activations per GPU for the backward pass.";
  answer.notes.push_back(
      "Counts 16-bit activations and 1-byte dropout masks of all layers for one micro-batch; left "
      "out: the head's logits and the embedding.");
  return answer;
}

Topic ActivationsTopic() {
  Topic topic;
  topic.name = "activations";
  topic.summary = "Compute the memory of activations per layer and GPU";
  topic.about =
      "The backward pass needs what the forward pass computed. A GPT block keeps B T d (34 + 5 h "
      "T/d) bytes; tensor and sequence parallelism divide them, recomputation and flash attention "
      "avoid them.";
  topic.example = "--layers 48 --d 6144 --heads 64 --sequence 2048 --batch 4 --tp 8";
  topic.inputs = {Input::Model(),
                  Input::Of("layers", Unit::kCount).Help("L, without a model"),
                  Input::Of("d", Unit::kCount).Help("width, without a model"),
                  Input::Of("heads", Unit::kCount).Help("h, without a model"),
                  Input::Of("sequence", Unit::kCount).Required().Help("T, tokens per sequence"),
                  Input::Of("batch", Unit::kCount).Default("1").Help("sequences per micro-batch"),
                  Input::Of("tp", Unit::kCount).Default("1").Help("tensor-parallel ranks"),
                  Input::Flag("sequence_parallel")
                      .Help("tensor-parallel ranks also divide what is between products"),
                  Input::Flag("flash").Help("the attention kernel does not write the scores"),
                  RecomputeInput()};
  topic.compute = ActivationsAnswer;
  return topic;
}

// The number of tokens per parameter that gives the least loss for a given number of FLOPs.
constexpr double kChinchillaRatio = 20;

Result<Answer> ChinchillaAnswer(const Arguments& arguments) {
  Answer answer;
  double n = 0;
  const bool budget = arguments.Has("budget");
  if (budget) {
    for (const char* input : {"model", "parameters", "tokens"}) {
      if (arguments.Has(input)) {
        return Refuse(input, "follows from the budget", "give the budget or " + std::string(input));
      }
    }
    answer.Add("flops", arguments.Number("budget"), Unit::kFlop, "C", "given");
    n = std::sqrt(arguments.Number("budget") / (6 * kChinchillaRatio));
  } else {
    ASSAY_ASSIGN_OR_RETURN(const ModelSize size, ModelSizeOf(arguments));
    n = size.active;
  }
  answer.Add("optimal_parameters", n, Unit::kParameters, budget ? "N = sqrt(C/120)" : "N, given",
             budget ? kHoffmann2022 : "given");
  const double optimal =
      answer.Add("optimal_tokens", kChinchillaRatio * n, Unit::kTokens, "D = 20 N", kHoffmann2022);
  double tokens = optimal;
  if (!budget)
    answer.Add("flops", 6 * n * optimal, Unit::kFlop, "C = 6 N D = 120 N^2", kKaplan2020);
  answer.headline = FormatQuantity(std::round(n), Unit::kParameters) + " parameters and " +
                    FormatQuantity(optimal, Unit::kTokens) + " are the best use of " +
                    FormatQuantity(6 * n * optimal, Unit::kFlop) + ".";
  if (arguments.Has("tokens")) {
    tokens = arguments.Number("tokens");
    answer.Add("flops_of_tokens", 6 * n * tokens, Unit::kFlop, "6 N D", kKaplan2020);
    answer.Add("tokens_per_parameter", tokens / n, Unit::kNumber, "D/N");
    const double starvation =
        answer.Add("starvation", optimal / tokens, Unit::kNumber, "20 N/D", kHoffmann2022);
    const std::string ratio = FormatQuantity(tokens / n, Unit::kNumber) + " tokens per parameter, ";
    answer.headline = starvation > 1 ? ratio + FormatQuantity(starvation, Unit::kNumber) +
                                           " times too few for the size."
                                     : ratio + FormatQuantity(1 / starvation, Unit::kNumber) +
                                           " times as many as the cheapest training for its loss.";
  }
  if (arguments.Has("unique")) {
    answer.Add("epochs", tokens / arguments.Number("unique"), Unit::kNumber,
               "tokens / unique tokens");
  }
  answer.notes.push_back(
      "20 tokens per parameter is the least training cost for a loss. A model that serves much is "
      "cheaper in total if it is smaller and sees more tokens.");
  return answer;
}

Topic ChinchillaTopic() {
  Topic topic;
  topic.name = "chinchilla";
  topic.summary = "Divide a budget between parameters and tokens";
  topic.about =
      "For a budget of C FLOPs the loss is least with N = sqrt(C/120) parameters and 20 tokens for "
      "each. Give a budget, or a model and optionally its tokens.";
  topic.example = "--budget 5.76e23";
  topic.inputs = SizeInputs();
  AppendInputs(
      topic.inputs,
      {Input::Of("budget", Unit::kFlop).AtMost(1e30).Help("FLOPs to spend, such as 5.76e23"),
       Input::Of("tokens", Unit::kTokens).Help("tokens that the model is trained on"),
       Input::Of("unique", Unit::kTokens).Help("tokens of the data set, for epochs")});
  topic.compute = ChinchillaAnswer;
  return topic;
}

Result<Answer> LearningRateAnswer(const Arguments& arguments) {
  const double rate = arguments.Number("rate");
  Answer answer;
  const double ratio =
      answer.Add("batch_ratio", arguments.Number("new_batch") / arguments.Number("batch"),
                 Unit::kNumber, "new batch / batch");
  answer.Add("linear", rate * ratio, Unit::kNumber, "rate x ratio", "Goyal 2017; for SGD");
  const double root = answer.Add("sqrt", rate * std::sqrt(ratio), Unit::kNumber,
                                 "rate x sqrt(ratio)", "Krizhevsky 2014; for Adam");
  answer.headline = "Begin the search at " + FormatQuantity(root, Unit::kNumber) +
                    " with Adam, at " + FormatQuantity(rate * ratio, Unit::kNumber) + " with SGD.";
  answer.notes.push_back(
      "Both are rules of thumb. They end where a larger batch no longer saves steps.");
  return answer;
}

Topic LearningRateTopic() {
  Topic topic;
  topic.name = "learning-rate";
  topic.summary = "Scale a learning rate to another batch size";
  topic.about = "The square root of the ratio of batches, with the linear rule next to it.";
  topic.example = "--rate 0.1 --batch 256 --new-batch 8192";
  topic.inputs = {
      Input::Of("rate", Unit::kNumber).Required().Help("learning rate that works"),
      Input::Of("batch", Unit::kTokens).Required().Help("batch at which it works"),
      Input::Of("new_batch", Unit::kTokens).Required().Help("batch to use, in the same unit")};
  topic.compute = LearningRateAnswer;
  return topic;
}

Result<Answer> LossAnswer(const Arguments& arguments) {
  const double loss = arguments.Number("loss");
  const double baseline = arguments.Number("baseline");
  Answer answer;
  answer.Add("difference", loss - baseline, Unit::kNumber, "loss - baseline, in nats");
  answer.Add("perplexity", std::exp(loss), Unit::kNumber, "e^loss");
  answer.Add("baseline_perplexity", std::exp(baseline), Unit::kNumber, "e^baseline");
  answer.Add("perplexity_ratio", std::exp(loss - baseline), Unit::kNumber, "e^difference");
  const double change =
      answer.Add("change", loss / baseline - 1, Unit::kFraction, "(loss - baseline) / baseline");
  answer.headline = "The loss is " + FormatQuantity(std::fabs(change), Unit::kFraction) +
                    (change < 0 ? " lower" : " higher") + " than the baseline.";
  answer.notes.push_back("Single runs differ by chance: compare several seeds.");
  return answer;
}

Topic LossTopic() {
  Topic topic;
  topic.name = "loss";
  topic.summary = "Compare a loss with a baseline";
  topic.about = "The change is relative to the baseline, not to the worse of the two.";
  topic.example = "--loss 4.2703 --baseline 3.4243";
  topic.inputs = {
      Input::Of("loss", Unit::kNumber).Required().AtMost(100).Help("loss in nats per token"),
      Input::Of("baseline", Unit::kNumber).Required().AtMost(100).Help("loss to compare with")};
  topic.compute = LossAnswer;
  return topic;
}

}  // namespace

std::vector<Topic> TrainingTopics() {
  return {UtilisationTopic(), FlopsTopic(),      TrainingMemoryTopic(),
          ActivationsTopic(), ChinchillaTopic(), LearningRateTopic(),
          LossTopic()};
}

}  // namespace assay::predict
