// The topics decode and prefill, and functions that the topics about serving share.
#include "predict/topics/serving.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/text.h"
#include "predict/topics/topics.h"

namespace assay::predict {
namespace {

// Returns the part of a decode step that takes the most time. Matrix products limited by arithmetic
// are counted as compute, and all others as weight reads.
std::string DominantDecodePart(const StepTime& step) {
  double compute = 0;
  double weights = 0;
  for (const StepPhase& phase : step.phases) {
    if (phase.name == "attention") continue;
    (phase.compute_seconds > phase.memory_seconds ? compute : weights) += phase.seconds;
  }
  return LargestServingPart({{"weights_time", weights},
                             {"kv_time", step.kv_seconds},
                             {"compute", compute},
                             {"launch", step.launch_seconds},
                             {"communication", step.communication_seconds}});
}

// Returns a text such as "llama-3-8b on 1 x H200 SXM".
std::string ServingGpus(const ModelShape& shape, const Serving& serving, const Hardware& gpu) {
  return shape.name + " on " + std::to_string(serving.tp) + " x " + gpu.name;
}

void AddStepOverhead(Answer& answer, const StepTime& step, const Serving& serving) {
  answer.Add("nodes", step.nodes, Unit::kCount,
             serving.tp > 1 ? "kernels: 10 L + 3, + 2 L all-reduces" : "kernels: 10 L + 3");
  answer.Add("launch", step.launch_seconds, Unit::kSeconds,
             "nodes x " + FormatQuantity(serving.launch, Unit::kSeconds),
             serving.launch > 0 ? "measured on H200 SXM" : "given");
  if (serving.tp > 1) {
    answer.Add("all_reduce", step.all_reduce.seconds, Unit::kSeconds,
               "one; " + step.all_reduce.formula, step.all_reduce.source);
    answer.Add("sent", step.all_reduce.sent_bytes, Unit::kBytes,
               "each GPU in one all-reduce: 2 (p-1)/p S, S = tokens d b", "Patarasuk 2009");
  }
  answer.Add("communication", step.communication_seconds, Unit::kSeconds,
             serving.tp > 1 ? "2 L all-reduces" : "0 on one GPU", "Shoeybi 2019");
}

void AddStepNotes(Answer& answer, const StepTime& step, const Serving& serving) {
  if (step.all_reduce.source.find("assumed") != std::string::npos) {
    answer.notes.push_back("Between GPUs: " + step.all_reduce.source + ".");
  }
  if (serving.tp > 8) {
    answer.notes.push_back(
        "All-reduces are estimated as within one node; across nodes they are slower.");
  }
  if (step.bandwidth.source.starts_with("sheet")) answer.notes.push_back(ServingSheetNote());
}

void AddStepFigures(Answer& answer, const StepTime& step, const Hardware& gpu,
                    const Serving& serving) {
  answer.Add("peak", step.peak.value, Unit::kFlopPerSecond,
             "dense " + ArithmeticOf(gpu, serving.weights) + ", one GPU", step.peak.source);
  answer.Add("bandwidth", step.bandwidth.value, Unit::kBytesPerSecond, "memory of one GPU",
             step.bandwidth.source);
  answer.Add("efficiency", step.efficiency, Unit::kFraction,
             "share of the roofline that products reach", step.source);
}

// Returns a table of decode steps with batches of 1, 2, 4 and so on, as long as they fit in memory.
// It shows how larger batches yield more tokens per second in total, but fewer per user.
Grid DecodeBatchGrid(const Hardware& gpu, const ModelShape& shape, const Serving& serving,
                     double context) {
  Grid grid;
  grid.title = "batches";
  grid.columns = {{"batch", Unit::kCount},
                  {"step", Unit::kSeconds},
                  {"tokens_per_second", Unit::kTokensPerSecond},
                  {"per_user", Unit::kTokensPerSecond},
                  {"per_gpu", Unit::kTokensPerSecond}};
  constexpr double kMostBatch = 1024;
  const std::optional<double> room = UsableMemory(gpu);
  const double most =
      room ? std::min(kMostBatch, LargestBatch(shape, serving, context, kPrefillChunk, *room))
           : kMostBatch;
  for (double batch = 1; batch <= most; batch *= 2) {
    const Result<StepTime> step = DecodeStep(gpu, shape, serving, batch, context);
    if (!step.ok()) break;
    const double rate = batch / step->seconds;
    grid.rows.push_back(
        {batch, step->seconds, rate, 1 / step->seconds, rate / static_cast<double>(serving.tp)});
  }
  return grid;
}

Result<Answer> DecodeAnswer(const Arguments& arguments) {
  const Hardware& gpu = arguments.Gpu();
  const ModelShape& shape = arguments.Model();
  const double batch = arguments.Number("batch");
  const double context = arguments.Number("context");
  ASSAY_ASSIGN_OR_RETURN(const Serving serving, ReadServing(arguments, shape));
  ASSAY_RETURN_IF_ERROR(CheckServingTokens("context", context, shape));
  ASSAY_RETURN_IF_ERROR(
      CheckServingFit(gpu, shape, serving, batch, context, kPrefillChunk, "batch", "context"));
  const Result<StepTime> estimated = DecodeStep(gpu, shape, serving, batch, context);
  if (!estimated.ok()) return RefuseUnknownFigure(estimated.status());
  const StepTime& step = *estimated;
  const auto p = static_cast<double>(serving.tp);
  Answer answer;
  AddServingMemory(answer, gpu, shape, serving,
                   ServingMemory(shape, serving, batch, context, kPrefillChunk));
  AddStepFigures(answer, step, gpu, serving);
  answer.Add("flops", step.flops, Unit::kFlop, "B (2 N_mm + 4 L h e c) / p");
  answer.Add("weights_read", step.weight_bytes, Unit::kBytes,
             shape.experts > 0 ? "N_mm w / p with the experts that B tokens choose" : "N_mm w / p",
             shape.experts > 0 ? "experts x (1 - (1 - active/experts)^B)" : "");
  answer.Add("kv_read", step.kv_bytes, Unit::kBytes, "B 2 L ceil(g/p) e k c", "kipply 2022");
  answer.Add("intensity", 2 * batch / BlockWeightBytes(serving.weights), Unit::kFlopPerByte,
             "2 B / w: of the weights");
  answer.Add("compute", step.compute_seconds, Unit::kSeconds, "FLOPs / peak");
  answer.Add("weights_time", step.weight_seconds, Unit::kSeconds, "weights read / bandwidth");
  answer.Add("kv_time", step.kv_seconds, Unit::kSeconds, "KV read / bandwidth");
  answer.Add("memory", step.weight_seconds + step.kv_seconds, Unit::kSeconds, "bytes / bandwidth");
  answer.Add("busy", step.busy_seconds, Unit::kSeconds,
             "sum over phases of max(FLOPs/peak, bytes/bandwidth)");
  AddStepOverhead(answer, step, serving);
  const double seconds =
      answer.Add("step", step.seconds, Unit::kSeconds, "busy + launch + communication");
  answer.Add("tokens_per_second", batch / seconds, Unit::kTokensPerSecond, "B / step");
  answer.Add("per_user", 1 / seconds, Unit::kTokensPerSecond, "1 / step");
  answer.Add("per_gpu", batch / seconds / p, Unit::kTokensPerSecond, "B / (step p)");
  answer.Add("bandwidth_bound", batch * step.bandwidth.value / (step.weight_bytes + step.kv_bytes),
             Unit::kTokensPerSecond, "B bandwidth / (weights + KV read): no step is faster");
  const double stored = static_cast<double>(MultiplyingParameters(shape, false)) /
                        static_cast<double>(MultiplyingParameters(shape));
  answer.Add("compute_bound_from",
             std::ceil(step.peak.value / step.bandwidth.value * BlockWeightBytes(serving.weights) /
                       2 * stored),
             Unit::kCount,
             shape.experts > 0 ? "B = ridge x w/2 x stored/active weights, KV left out"
                               : "B = ridge x w/2, KV left out",
             "scaling book");
  answer.grids.push_back(StepPhaseGrid(step));
  answer.grids.push_back(DecodeBatchGrid(gpu, shape, serving, context));
  answer.dominant = DominantDecodePart(step);
  answer.headline = ServingGpus(shape, serving, gpu) + ": " +
                    FormatQuantity(seconds, Unit::kSeconds) + " per token for " +
                    ServingCount(batch) + (batch == 1 ? " user, " : " users, ") +
                    FormatQuantity(batch / seconds, Unit::kTokensPerSecond) + ".";
  answer.notes.push_back(
      "Left out: sampling, the scheduler and prefill between steps. Activations are assumed to "
      "stay in the L2 cache.");
  AddStepNotes(answer, step, serving);
  return answer;
}

Topic DecodeTopic() {
  Topic topic;
  topic.name = "decode";
  topic.summary = "Predict a decode step: time per token, tokens per second, and what limits it";
  topic.about =
      "One decode step makes one token for each of the batch's sequences. It reads all weights "
      "once and the KV cache of every sequence. Small batches are limited by memory bandwidth.";
  topic.example = "--model llama-3-8b --gpu H200 --batch 32 --context 4096";
  topic.inputs = {Input::Model().Required(), Input::Gpu(),
                  Input::Of("batch", Unit::kCount).Default("1").Help("sequences per step"),
                  Input::Of("context", Unit::kTokens)
                      .Default("1024")
                      .AtLeast(1)
                      .Help("tokens in the cache of each sequence, the new one included")};
  for (Input& input : ServingInputs("graph")) topic.inputs.push_back(std::move(input));
  topic.inputs = ServingHardware(std::move(topic.inputs),
                                 {"peak", "bandwidth", "link", "both_directions", "memory"});
  topic.compute = DecodeAnswer;
  return topic;
}

Result<Answer> PrefillAnswer(const Arguments& arguments) {
  const Hardware& gpu = arguments.Gpu();
  const ModelShape& shape = arguments.Model();
  const double tokens = arguments.Number("tokens");
  const double chunk =
      arguments.Has("chunk") ? std::min(arguments.Number("chunk"), tokens) : tokens;
  ASSAY_ASSIGN_OR_RETURN(const Serving serving, ReadServing(arguments, shape));
  ASSAY_RETURN_IF_ERROR(CheckServingTokens("tokens", tokens, shape));
  ASSAY_RETURN_IF_ERROR(CheckServingFit(gpu, shape, serving, 1, tokens, chunk, "", "tokens"));
  const Result<StepTime> estimated = PrefillStep(gpu, shape, serving, tokens, chunk);
  if (!estimated.ok()) return RefuseUnknownFigure(estimated.status());
  const StepTime& step = *estimated;
  const auto p = static_cast<double>(serving.tp);
  Answer answer;
  AddServingMemory(answer, gpu, shape, serving, ServingMemory(shape, serving, 1, tokens, chunk));
  AddStepFigures(answer, step, gpu, serving);
  answer.Add("chunks", std::ceil(tokens / chunk), Unit::kCount, "T / chunk");
  answer.Add("flops", step.flops, Unit::kFlop, "(2 N_mm' T + 2 L h e T^2 + 2 V d) / p, causal");
  answer.Add("intensity", 2 * chunk / BlockWeightBytes(serving.weights), Unit::kFlopPerByte,
             "2 T / w: of the weights, per chunk");
  answer.Add("compute", step.compute_seconds, Unit::kSeconds, "FLOPs / peak");
  double products = 0;
  double attention = 0;
  double elementwise = 0;
  for (const StepPhase& phase : step.phases) {
    double& part = phase.name == "attention"     ? attention
                   : phase.name == "elementwise" ? elementwise
                                                 : products;
    part += phase.seconds;
  }
  answer.Add("products", products, Unit::kSeconds, "sum of max(2 m n k/peak, bytes/bandwidth)");
  answer.Add("attention", attention, Unit::kSeconds, "2 L h e T^2 / (p peak), scores not stored",
             "Dao 2022");
  answer.Add("elementwise", elementwise, Unit::kSeconds,
             "T L (8 d + 3 f/p + 2 (h + g) e/p) b / bandwidth: norms, activation, rotation");
  AddStepOverhead(answer, step, serving);
  const double seconds = answer.Add("ttft", step.seconds, Unit::kSeconds,
                                    "products + attention + elementwise + launch + communication");
  answer.Add("tokens_per_second", tokens / seconds, Unit::kTokensPerSecond, "T / ttft");
  answer.Add("per_gpu", tokens / seconds / p, Unit::kTokensPerSecond, "T / (ttft p)");
  answer.Add("utilisation", step.flops / (seconds * step.peak.value), Unit::kFraction,
             "FLOPs / (ttft peak); inference utilisation, not MFU of training");
  const double rule = p * step.peak.value / (2 * static_cast<double>(CountActiveParameters(shape)));
  answer.Add("usual_low", 0.5 * rule, Unit::kTokensPerSecond, "0.5 p peak / 2N", "rule of thumb");
  answer.Add("usual_high", 0.7 * rule, Unit::kTokensPerSecond, "0.7 p peak / 2N", "rule of thumb");
  answer.grids.push_back(StepPhaseGrid(step));
  answer.dominant = LargestServingPart({{"products", products},
                                        {"attention", attention},
                                        {"elementwise", elementwise},
                                        {"launch", step.launch_seconds},
                                        {"communication", step.communication_seconds}});
  answer.headline = ServingGpus(shape, serving, gpu) + ": a prompt of " + ServingCount(tokens) +
                    " tokens takes " + FormatQuantity(seconds, Unit::kSeconds) + ", " +
                    FormatQuantity(tokens / seconds, Unit::kTokensPerSecond) + ".";
  answer.notes.push_back(
      "Left out: queueing, the network and tokenisation, which add to the time to first token. "
      "The head multiplies the last token only.");
  AddStepNotes(answer, step, serving);
  return answer;
}

Topic PrefillTopic() {
  Topic topic;
  topic.name = "prefill";
  topic.summary = "Predict the prefill of a prompt: time to first token and tokens per second";
  topic.about =
      "PrefillStep computes all tokens of a prompt at once and fills the KV cache. Prompts of a "
      "few "
      "hundred tokens and more are limited by arithmetic. The time is the service time of the "
      "first token, without queue and network.";
  topic.example = "--model llama-3-70b --gpu H200 --tokens 8192 --tp 8";
  topic.inputs = {
      Input::Model().Required(), Input::Gpu(),
      Input::Of("tokens", Unit::kTokens).Required().AtLeast(1).Help("length of the prompt"),
      Input::Of("chunk", Unit::kTokens)
          .AtLeast(16)
          .Help("tokens computed at a time; each chunk reads the weights again (default: all)")};
  for (Input& input : ServingInputs("stream")) topic.inputs.push_back(std::move(input));
  topic.inputs = ServingHardware(std::move(topic.inputs),
                                 {"peak", "bandwidth", "link", "both_directions", "memory"});
  topic.compute = PrefillAnswer;
  return topic;
}

}  // namespace

std::string ServingCount(double value) { return FormatQuantity(value, Unit::kCount); }

std::vector<Input> ServingHardware(std::vector<Input> inputs,
                                   const std::vector<std::string>& names) {
  for (Input& input : HardwareInputs(names)) inputs.push_back(std::move(input));
  return inputs;
}

std::string LargestServingPart(const std::vector<std::pair<std::string, double>>& parts) {
  return std::max_element(parts.begin(), parts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

std::vector<Input> ServingInputs(const std::string& launch) {
  std::vector<Input> inputs = {
      Input::Of("tp", Unit::kCount)
          .Default("1")
          .AtMost(kMostServingTp)
          .Help("tensor-parallel GPUs of one node; must divide the heads"),
      Input::Choice("weights", {"bf16", "fp16", "fp8", "int8", "int4"})
          .Default("bf16")
          .Help("type of the weights; quantised ones leave embedding and head in bf16"),
      Input::Choice("kv", {"bf16", "fp16", "fp8", "int8", "int4"})
          .Default("bf16")
          .Help("type of the KV cache")};
  if (!launch.empty()) {
    inputs.push_back(Input::Choice("launch", {"graph", "stream", "none"})
                         .Default(launch)
                         .Help("how kernels are launched: 0.6 us each in a CUDA graph, 2.5 us on a "
                               "stream; none leaves this out"));
  }
  return inputs;
}

Result<Serving> ReadServing(const Arguments& arguments, const ModelShape& shape) {
  Serving serving;
  serving.tp = static_cast<int64_t>(arguments.Number("tp"));
  serving.weights = arguments.Text("weights");
  serving.kv = arguments.Text("kv");
  if (arguments.Has("launch")) {
    const std::string& launch = arguments.Text("launch");
    serving.launch = launch == "graph" ? kGraphLaunch : launch == "stream" ? kStreamLaunch : 0;
  }
  if (shape.heads % serving.tp != 0) {
    std::vector<std::string> sizes;
    for (int64_t tp = 1; tp <= kMostServingTp; tp *= 2) {
      if (shape.heads % tp == 0) sizes.push_back(std::to_string(tp));
    }
    return Refuse("tp",
                  "the " + std::to_string(shape.heads) + " heads of " + shape.name +
                      " are not divisible by " + std::to_string(serving.tp) + " GPUs",
                  "give one of " + Join(sizes));
  }
  return serving;
}

Status CheckServingTokens(const std::string& input, double tokens, const ModelShape& shape) {
  const auto positions = static_cast<double>(shape.positions);
  if (tokens <= positions) return Status::Ok();
  return Refuse(input,
                ServingCount(tokens) + " tokens are beyond the " + ServingCount(positions) +
                    " positions of " + shape.name,
                "give at most " + ServingCount(positions));
}

Status RefuseUnknownFigure(const Status& error) {
  if (error.code() != Code::kNotFound) return error;
  const std::string& message = error.message();
  const char* input = message.find("between GPUs") != std::string::npos ? "link"
                      : message.find("peak") != std::string::npos       ? "peak"
                                                                        : "bandwidth";
  return Refuse(input, message, error.hint());
}

Grid StepPhaseGrid(const StepTime& step) {
  Grid grid;
  grid.title = "phases, one GPU";
  grid.columns = {{"phase", Unit::kNumber},     {"flops", Unit::kFlop},
                  {"bytes", Unit::kBytes},      {"compute", Unit::kSeconds},
                  {"memory", Unit::kSeconds},   {"time", Unit::kSeconds},
                  {"limited_by", Unit::kNumber}};
  for (const StepPhase& phase : step.phases) {
    grid.rows.push_back({phase.name, phase.flops, phase.bytes, phase.compute_seconds,
                         phase.memory_seconds, phase.seconds,
                         phase.compute_seconds > phase.memory_seconds ? std::string("compute")
                                                                      : std::string("memory")});
  }
  return grid;
}

std::string ServingSequences(double count) {
  return ServingCount(count) + (count == 1 ? " sequence" : " sequences");
}

std::string ServingSheetNote() {
  return "With figures of spec sheets this is a bound: gpt-fast reached 0.69 of the sheet's "
         "bandwidth on A100, and calm 0.89 on RTX 4090, at batch 1.";
}

std::vector<Topic> ServingTopics() {
  std::vector<Topic> topics = {DecodeTopic(), PrefillTopic()};
  for (std::vector<Topic> (*const more)() :
       {ServingMemoryTopics, ServingRuleTopics, ServePlanTopics}) {
    for (Topic& topic : more()) topics.push_back(std::move(topic));
  }
  return topics;
}

}  // namespace assay::predict
