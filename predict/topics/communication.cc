// Topics (questions that Assay answers by calculation) about how much data GPUs exchange in
// collectives and in each form of parallel training.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "predict/cost.h"
#include "predict/step.h"
#include "predict/topics/sizes.h"
#include "predict/topics/topics.h"
#include "predict/training.h"

namespace assay::predict {
namespace {

constexpr char kPatarasuk2009[] = "Patarasuk 2009";
constexpr char kNarayanan2021[] = "Narayanan 2021";
constexpr char kShoeybi2019[] = "Shoeybi 2019";
constexpr char kNcclTests[] = "nccl-tests PERFORMANCE.md";

Input ElementInput() {
  return Input::Choice("dtype", {"bf16", "fp16", "fp32", "fp8", "int8"})
      .Default("bf16")
      .Help("type of the elements sent");
}

// Returns true if the user named a link or a GPU, so that the answer can include times as well as
// bytes.
bool WantsTimes(const Arguments& arguments) {
  return arguments.Has("gpu") || arguments.Has("link");
}

// Returns the GPU with the bandwidth of the link that connects `gpus` GPUs.
Hardware LinkedGpu(const Arguments& arguments, double gpus) {
  return WithLink(arguments.Gpu(), static_cast<int64_t>(gpus));
}

Result<Figure> LinkOf(const Hardware& gpu) {
  if (gpu.link_bandwidth) return *gpu.link_bandwidth;
  return Refuse("link", "the bandwidth between GPUs of " + gpu.name + " is not known",
                "give it in one direction, such as --link 450GB/s; PCI Express 5.0 x16 has 63GB/s");
}

Result<AllReduceTime> AllReduceOf(const Hardware& gpu, double bytes, double ranks) {
  Result<AllReduceTime> time = EstimateAllReduce(gpu, bytes, static_cast<int64_t>(ranks));
  if (!time.ok()) return AsRefusal("link", time.status());
  return time;
}

// A collective operation, such as an all-reduce. `factor` is the amount that each GPU sends,
// relative to the size of the array. It is also the ratio of bus bandwidth to algorithm bandwidth.
struct Collective {
  double factor = 1;
  std::string formula;
};

Collective CollectiveOf(const std::string& name, double n) {
  if (name == "all-reduce") return {2 * (n - 1) / n, "2 (n-1)/n"};
  if (name == "broadcast" || name == "reduce" || name == "send-recv") return {1, "1"};
  return {(n - 1) / n, "(n-1)/n"};
}

Result<double> ArrayBytes(const Arguments& arguments) {
  if (arguments.Has("bytes") == arguments.Has("parameters")) {
    return arguments.Has("bytes")
               ? Refuse("parameters", "cannot be given together with bytes", "leave one out")
               : Refuse("bytes", "is required, or parameters",
                        "such as --bytes 1GB or --parameters 8B --dtype bf16");
  }
  if (arguments.Has("bytes")) return arguments.Number("bytes");
  return arguments.Number("parameters") * BytesOf(arguments.Text("dtype"));
}

Result<Answer> CollectiveAnswer(const Arguments& arguments, const std::string& name) {
  ASSAY_ASSIGN_OR_RETURN(const double bytes, ArrayBytes(arguments));
  const double n = arguments.Number("gpus");
  const Collective collective = CollectiveOf(name, n);
  const Hardware gpu = LinkedGpu(arguments, n);
  Answer answer;
  answer.Add("bytes", bytes, Unit::kBytes, "S, the whole array");
  answer.Add("factor", collective.factor, Unit::kNumber, collective.formula, kNcclTests);
  answer.Add("sent", collective.factor * bytes, Unit::kBytes,
             collective.formula + " S, by each GPU", kPatarasuk2009);
  double seconds = 0;
  if (arguments.Has("time")) {
    seconds = answer.Add("time", arguments.Number("time"), Unit::kSeconds, "t", "given");
    const double carried = collective.factor * bytes / seconds;
    constexpr double kTolerance = 1.1;
    if (gpu.link_bandwidth && carried > kTolerance * gpu.link_bandwidth->value) {
      return Refuse("time",
                    "means " + FormatQuantity(carried, Unit::kBytesPerSecond) + " on a link of " +
                        FormatQuantity(gpu.link_bandwidth->value, Unit::kBytesPerSecond),
                    "check the size, the time and the number of GPUs");
    }
  } else {
    if (gpu.link_bandwidth) {
      answer.Add("link", gpu.link_bandwidth->value, Unit::kBytesPerSecond, "one direction",
                 gpu.link_bandwidth->source);
    }
    if (name == "all-reduce") {
      ASSAY_ASSIGN_OR_RETURN(const AllReduceTime time, AllReduceOf(gpu, bytes, n));
      if (time.latency_seconds > 0) {
        answer.Add("latency", time.latency_seconds, Unit::kSeconds, "alpha", time.source);
      }
      answer.dominant = 2 * time.latency_seconds > time.seconds ? "latency" : "sent";
      seconds = answer.Add("time", time.seconds, Unit::kSeconds, time.formula, time.source);
    } else {
      ASSAY_ASSIGN_OR_RETURN(const Figure link, LinkOf(gpu));
      answer.dominant = "sent";
      seconds = answer.Add("time", collective.factor * bytes / link.value, Unit::kSeconds,
                           collective.formula + " S / link", link.source);
      answer.notes.push_back("Left out: latency, about 10 us between GPUs with NVLink.");
    }
  }
  answer.Add("algorithm_bandwidth", bytes / seconds, Unit::kBytesPerSecond, "S / t", kNcclTests);
  answer.Add("bus_bandwidth", collective.factor * bytes / seconds, Unit::kBytesPerSecond,
             collective.formula + " S / t", kNcclTests);
  answer.headline = "The " + name + " of " + FormatQuantity(bytes, Unit::kBytes) + " between " +
                    FormatQuantity(n, Unit::kCount) + " GPUs takes " +
                    FormatQuantity(seconds, Unit::kSeconds) + ".";
  constexpr double kNodeGpus = 8;
  if (n > kNodeGpus && !arguments.Has("time") && !arguments.Has("link")) {
    answer.notes.push_back(
        "Assumes that all GPUs share one node's link. Between nodes, give the network's "
        "bandwidth per GPU as --link.");
  }
  answer.notes.push_back(
      "Bandwidths are of one direction. Data sheets often add both: 900 GB/s of an H100 are 450 "
      "each way.");
  return answer;
}

Result<Answer> AllReduceAnswer(const Arguments& arguments) {
  return CollectiveAnswer(arguments, "all-reduce");
}

Result<Answer> AnyCollectiveAnswer(const Arguments& arguments) {
  return CollectiveAnswer(arguments, arguments.Text("operation"));
}

std::vector<Input> CollectiveInputs() {
  std::vector<Input> inputs = {
      Input::Of("bytes", Unit::kBytes)
          .Help("size of the whole array; of all-gather the result, of reduce-scatter the input"),
      Input::Of("parameters", Unit::kParameters).Help("elements of the array, with dtype"),
      ElementInput(),
      Input::Of("gpus", Unit::kCount).Required().AtLeast(2).AtMost(1e6).Help("GPUs that take part"),
      Input::Of("time", Unit::kSeconds).Help("measured time, to get the bandwidths"),
      Input::Gpu()};
  AppendInputs(inputs, HardwareInputs({"link", "both_directions"}));
  return inputs;
}

Topic AllReduceTopic() {
  Topic topic;
  topic.name = "allreduce";
  topic.summary = "Predict the time and the bandwidths of an all-reduce";
  topic.about =
      "In a ring each GPU sends 2 (n-1)/n of the array. Bus bandwidth is that over the time, and "
      "comparable with the link's bandwidth in one direction.";
  topic.example = "--parameters 8B --gpus 8 --gpu 'H100 SXM'";
  topic.inputs = CollectiveInputs();
  topic.compute = AllReduceAnswer;
  return topic;
}

Topic CollectiveTopic() {
  Topic topic;
  topic.name = "collective";
  topic.summary = "Predict the time and the bandwidths of any collective operation";
  topic.about =
      "All-gather, reduce-scatter and all-to-all send (n-1)/n of the whole array, an all-reduce "
      "twice that.";
  topic.example = "--operation all-gather --bytes 1GiB --gpus 8 --gpu H200";
  topic.inputs = CollectiveInputs();
  topic.inputs.insert(topic.inputs.begin(),
                      Input::Choice("operation", {"all-reduce", "all-gather", "reduce-scatter",
                                                  "all-to-all", "broadcast", "reduce", "send-recv"})
                          .Required()
                          .Help("operation"));
  topic.compute = AnyCollectiveAnswer;
  return topic;
}

Result<Answer> PipelineAnswer(const Arguments& arguments) {
  const double stages = arguments.Number("stages");
  const double chunks = arguments.Number("interleave");
  const double share = arguments.Number("share");
  const char* const formula = chunks > 1 ? "(pp-1)/(v m + pp-1)" : "(pp-1)/(m + pp-1)";
  Answer answer;
  answer.Add("share", share, Unit::kFraction, "the bubble must be below",
             arguments.Given("share") ? "given" : "default");
  const double least = answer.Add("least_micro_batches", LeastMicroBatches(stages, share, chunks),
                                  Unit::kCount, std::string("least m: ") + formula + " < share");
  answer.headline = "At least " + FormatQuantity(least, Unit::kCount) +
                    " micro-batches keep the bubble below " +
                    FormatQuantity(share, Unit::kFraction) + ".";
  if (arguments.Has("micro_batches")) {
    const double m = arguments.Number("micro_batches");
    answer.Add("bubble_to_ideal", (stages - 1) / (chunks * m), Unit::kNumber,
               "(pp-1)/(v m), of the time without a bubble", kNarayanan2021);
    const double bubble = answer.Add("bubble", BubbleShare(stages, m, chunks), Unit::kFraction,
                                     std::string(formula) + ", of the whole step", kNarayanan2021);
    answer.Add("efficiency", 1 - bubble, Unit::kFraction, "1 - bubble");
    answer.headline = "Stages wait " + FormatQuantity(bubble, Unit::kFraction) +
                      " of the step; from " + FormatQuantity(least, Unit::kCount) +
                      " micro-batches it is below " + FormatQuantity(share, Unit::kFraction) + ".";
  }
  if (arguments.Has("sequence") && arguments.Has("d")) {
    answer.Add("message",
               arguments.Number("batch") * arguments.Number("sequence") * arguments.Number("d") *
                   BytesOf(arguments.Text("dtype")),
               Unit::kBytes, "B T d b, per micro-batch and boundary, each way", kNarayanan2021);
  }
  answer.notes.push_back(
      "1F1B has the same bubble as GPipe; it lowers the memory of activations. Left out: unequal "
      "stages and the time to send.");
  return answer;
}

Topic PipelineTopic() {
  Topic topic;
  topic.name = "pipeline";
  topic.summary = "Compute the bubble of a pipeline, and how many micro-batches it needs";
  topic.about =
      "While the pipeline fills and drains, stages wait. More micro-batches, or several chunks of "
      "layers per stage (interleave), make that smaller.";
  topic.example = "--stages 4 --micro-batches 16 --share 5%";
  topic.inputs = {
      Input::Of("stages", Unit::kCount).Required().Help("pipeline stages"),
      Input::Of("micro_batches", Unit::kCount).Help("micro-batches per step"),
      Input::Of("interleave", Unit::kCount).Default("1").Help("chunks of layers per stage"),
      Input::Of("share", Unit::kFraction)
          .Default("5%")
          .AtLeast(1e-6)
          .AtMost(0.999)
          .Help("share of the step that the bubble must stay below"),
      Input::Of("batch", Unit::kCount).Default("1").Help("sequences per micro-batch"),
      Input::Of("sequence", Unit::kCount).Help("tokens per sequence, for the bytes sent"),
      Input::Of("d", Unit::kCount).Help("width, for the bytes sent"),
      ElementInput()};
  topic.compute = PipelineAnswer;
  return topic;
}

Result<Answer> DataParallelAnswer(const Arguments& arguments) {
  ASSAY_ASSIGN_OR_RETURN(const ModelSize size, ModelSizeOf(arguments));
  const double n = arguments.Number("dp");
  const double m = arguments.Number("micro_batches");
  const int zero = arguments.Text("zero")[0] - '0';
  Answer answer;
  const double bytes = answer.Add("gradients", size.parameters * BytesOf(arguments.Text("dtype")),
                                  Unit::kBytes, "N b, as many for weights");
  const double sent = answer.Add(
      "sent", DataParallelBytes(bytes, n, zero, m), Unit::kBytes,
      zero < 3 ? "2 (n-1)/n N b: reduce-scatter and all-gather"
               : "(2 m + 1) (n-1)/n N b: 2 all-gathers per micro-batch, 1 reduce-scatter",
      zero < 3 ? kPatarasuk2009 : "Rajbhandari 2020");
  answer.headline = "Each GPU sends " + FormatQuantity(sent, Unit::kBytes) + " per step.";
  if (WantsTimes(arguments) && n > 1) {
    ASSAY_ASSIGN_OR_RETURN(const Figure link, LinkOf(LinkedGpu(arguments, n)));
    answer.Add("link", link.value, Unit::kBytesPerSecond, "one direction", link.source);
    const double time =
        answer.Add("time", sent / link.value, Unit::kSeconds, "sent / link", link.source);
    answer.headline = "Each GPU sends " + FormatQuantity(sent, Unit::kBytes) + " per step in " +
                      FormatQuantity(time, Unit::kSeconds) + ".";
    if (arguments.Has("backward")) {
      answer.Add("exposed",
                 std::max(0.0, time - arguments.Number("backward") * arguments.Number("overlap")),
                 Unit::kSeconds, "max(0, time - backward x overlap)");
    }
  }
  answer.notes.push_back(
      "Left out: latency, and the network between nodes; give its bandwidth per GPU as --link if "
      "the ranks are on several nodes.");
  return answer;
}

Topic DataParallelTopic() {
  Topic topic;
  topic.name = "data-parallel";
  topic.summary = "Compute what data-parallel ranks send per step";
  topic.about =
      "Plain data parallelism, ZeRO-1 and ZeRO-2 send the gradients twice. ZeRO-3 (FSDP) gathers "
      "the weights for each forward and backward pass too.";
  topic.example = "--model llama-3-8b --dp 8 --zero 3 --gpu 'H100 SXM'";
  topic.inputs = SizeInputs();
  AppendInputs(
      topic.inputs,
      {Input::Of("dp", Unit::kCount).Required().Help("data-parallel ranks"),
       Input::Choice("zero", {"0", "1", "2", "3"}).Default("0").Help("ZeRO stage"),
       Input::Of("micro_batches", Unit::kCount)
           .Default("1")
           .Help("micro-batches per step; ZeRO-3 gathers the weights for each"),
       ElementInput(),
       Input::Of("backward", Unit::kSeconds).Help("time of the backward pass, to hide behind"),
       Input::Of("overlap", Unit::kFraction)
           .AtLeast(0)
           .Default("0")
           .Help("share of the backward pass that hides communication"),
       Input::Gpu()});
  AppendInputs(topic.inputs, HardwareInputs({"link", "both_directions"}));
  topic.compute = DataParallelAnswer;
  return topic;
}

// A transformer block split across GPUs by tensor parallelism: the FLOPs per token of its forward
// pass, and the sizes that determine how much data the GPUs send.
struct TensorParallelBlock {
  double d = 0;
  double layers = 0;
  double flops = 0;
};

Result<TensorParallelBlock> TensorParallelBlockOf(const Arguments& arguments) {
  const double sequence = arguments.Number("sequence");
  const double p = arguments.Number("tp");
  if (!arguments.Has("model")) {
    if (!arguments.Has("d")) {
      return Refuse("d", "is required, or a model", "such as --d 8192 or --model llama-3-70b");
    }
    const double d = arguments.Number("d");
    return TensorParallelBlock{d, arguments.Has("layers") ? arguments.Number("layers") : 1,
                               24 * d * d + 2 * sequence * d};
  }
  for (const char* input : {"d", "layers"}) {
    if (arguments.Has(input)) return Refuse(input, "is known from the model", "leave it out");
  }
  const ModelShape& shape = arguments.Model();
  if (std::fmod(static_cast<double>(shape.heads), p) != 0) {
    return Refuse("tp",
                  FormatQuantity(static_cast<double>(shape.heads), Unit::kCount) +
                      " heads are not divisible by " + FormatQuantity(p, Unit::kCount),
                  "choose a divisor of the heads");
  }
  const auto d = static_cast<double>(shape.d);
  const auto layers = static_cast<double>(shape.layers);
  const double head = 2 * static_cast<double>(shape.vocab) * d;
  const double forward = TrainingFlops(shape, sequence, Recompute::kNone).forward;
  return TensorParallelBlock{d, layers, (forward - head) / layers};
}

Result<Answer> TensorParallelAnswer(const Arguments& arguments) {
  ASSAY_ASSIGN_OR_RETURN(const TensorParallelBlock block, TensorParallelBlockOf(arguments));
  const double p = arguments.Number("tp");
  const double tokens = arguments.Number("batch") * arguments.Number("sequence");
  Answer answer;
  const double payload = answer.Add("payload", tokens * block.d * BytesOf(arguments.Text("dtype")),
                                    Unit::kBytes, "S = B T d b, of one all-reduce", kShoeybi2019);
  const double sent = answer.Add("sent", 2 * (p - 1) / p * payload, Unit::kBytes,
                                 "2 (p-1)/p S, by each GPU", kPatarasuk2009);
  answer.Add("forward_per_layer", 2 * sent, Unit::kBytes, "2 all-reduces", kShoeybi2019);
  answer.Add("per_layer", 4 * sent, Unit::kBytes, "2 all-reduces forward, 2 backward",
             kShoeybi2019);
  const double total =
      answer.Add("total", 4 * sent * block.layers, Unit::kBytes, "L x per layer", kShoeybi2019);
  answer.headline = "Each GPU sends " + FormatQuantity(total, Unit::kBytes) +
                    " per micro-batch, forward and backward.";
  if (WantsTimes(arguments)) {
    const Hardware gpu = LinkedGpu(arguments, p);
    ASSAY_ASSIGN_OR_RETURN(const AllReduceTime reduce, AllReduceOf(gpu, payload, p));
    const double communication =
        answer.Add("communication", 2 * reduce.seconds, Unit::kSeconds,
                   "2 all-reduces: forward pass of a layer", reduce.source);
    if (const Result<Figure> peak = gpu.Peak(arguments.Text("dtype")); peak.ok()) {
      const double alone = tokens * block.flops / peak->value;
      const double compute = answer.Add("compute", alone / p, Unit::kSeconds,
                                        "FLOPs of a layer forward / (p x peak)", peak->source);
      answer.Add("communication_ratio", communication / compute, Unit::kNumber,
                 "communication / compute");
      const double gain = answer.Add("speed_up", alone / (compute + communication), Unit::kNumber,
                                     "compute on 1 GPU / (compute + communication)");
      answer.dominant = communication > compute ? "communication" : "compute";
      answer.headline = "A layer runs " + FormatQuantity(gain, Unit::kNumber) +
                        " times as fast on " + FormatQuantity(p, Unit::kCount) + " GPUs as on one.";
    }
  }
  answer.notes.push_back(
      "Sequence parallelism sends the same bytes, as reduce-scatter and all-gather. Nothing hides "
      "behind the products unless a kernel overlaps them.");
  return answer;
}

Topic TensorParallelTopic() {
  Topic topic;
  topic.name = "tensor-parallel";
  topic.summary = "Compute what tensor-parallel ranks send, and what they gain";
  topic.about =
      "Each layer all-reduces its activations twice in the forward pass and twice in the backward "
      "pass. With a GPU the answer compares that with the products.";
  topic.example = "--batch 4 --sequence 8192 --d 8192 --tp 8 --gpu 'H100 SXM'";
  topic.inputs = {Input::Model(),
                  Input::Of("d", Unit::kCount).Help("width, without a model"),
                  Input::Of("layers", Unit::kCount).Help("layers, without a model; 1 if left out"),
                  Input::Of("batch", Unit::kCount).Default("1").Help("sequences per micro-batch"),
                  Input::Of("sequence", Unit::kCount).Required().Help("tokens per sequence"),
                  Input::Of("tp", Unit::kCount)
                      .Required()
                      .AtLeast(2)
                      .AtMost(1024)
                      .Help("tensor-parallel ranks"),
                  ElementInput(),
                  Input::Gpu()};
  AppendInputs(topic.inputs, HardwareInputs({"peak", "link", "both_directions"}));
  topic.compute = TensorParallelAnswer;
  return topic;
}

Result<Answer> ExpertsAnswer(const Arguments& arguments) {
  double experts = 0;
  double top_k = 0;
  double d = 0;
  double layers = 1;
  if (arguments.Has("model")) {
    const ModelShape& shape = arguments.Model();
    if (shape.experts == 0) {
      return Refuse("model", shape.name + " has no experts", "such as mixtral-8x7b");
    }
    experts = static_cast<double>(shape.experts);
    top_k = static_cast<double>(shape.active_experts);
    d = static_cast<double>(shape.d);
    layers = static_cast<double>(shape.layers);
  } else {
    for (const char* input : {"experts", "top_k", "d"}) {
      if (!arguments.Has(input)) {
        return Refuse(input, "is required without a model", "such as --model mixtral-8x7b");
      }
    }
    experts = arguments.Number("experts");
    top_k = arguments.Number("top_k");
    d = arguments.Number("d");
    if (arguments.Has("layers")) layers = arguments.Number("layers");
  }
  const double n = arguments.Number("gpus");
  if (top_k > experts) return Refuse("top_k", "is more than the experts", "give at most experts");
  if (std::fmod(experts, n) != 0) {
    return Refuse("gpus",
                  FormatQuantity(experts, Unit::kCount) + " experts are not divisible by " +
                      FormatQuantity(n, Unit::kCount) + " GPUs",
                  "choose a divisor of the experts");
  }
  const double tokens = arguments.Number("tokens");
  Answer answer;
  const double load = answer.Add("tokens_per_expert", n * tokens * top_k / experts, Unit::kTokens,
                                 "n x tokens x top_k / experts, if even", "Lepikhin 2020");
  answer.Add("experts_per_gpu", experts / n, Unit::kCount, "experts / n");
  const double sent =
      answer.Add("all_to_all", tokens * top_k * d * BytesOf(arguments.Text("dtype")) * (n - 1) / n,
                 Unit::kBytes, "tokens x top_k x d b (n-1)/n, by each GPU", "Lepikhin 2020");
  answer.Add("forward", 2 * sent * layers, Unit::kBytes, "2 all-to-alls per layer");
  answer.Add("training", 4 * sent * layers, Unit::kBytes, "forward and backward");
  answer.headline = "Each expert gets " + FormatQuantity(load, Unit::kTokens) +
                    " if routing is even; each GPU sends " + FormatQuantity(sent, Unit::kBytes) +
                    " per all-to-all.";
  if (WantsTimes(arguments) && n > 1) {
    ASSAY_ASSIGN_OR_RETURN(const Figure link, LinkOf(LinkedGpu(arguments, n)));
    answer.Add("forward_time", 2 * sent * layers / link.value, Unit::kSeconds, "forward / link",
               link.source);
  }
  answer.notes.push_back("Left out: uneven routing, dropped tokens and latency.");
  return answer;
}

Topic ExpertsTopic() {
  Topic topic;
  topic.name = "experts";
  topic.summary = "Compute the tokens per expert and what expert parallelism sends";
  topic.about =
      "Each layer sends its tokens to the GPUs of their experts and back: two all-to-alls in the "
      "forward pass. An expert needs many tokens for its products to be compute-bound.";
  topic.example = "--model mixtral-8x7b --tokens 8192 --gpus 8";
  topic.inputs = {Input::Model(),
                  Input::Of("experts", Unit::kCount).Help("experts per layer, without a model"),
                  Input::Of("top_k", Unit::kCount).Help("experts per token, without a model"),
                  Input::Of("d", Unit::kCount).Help("width, without a model"),
                  Input::Of("layers", Unit::kCount).Help("layers, without a model; 1 if left out"),
                  Input::Of("tokens", Unit::kTokens).Required().Help("tokens on each GPU"),
                  Input::Of("gpus", Unit::kCount).Default("1").Help("GPUs that divide the experts"),
                  ElementInput(),
                  Input::Gpu()};
  AppendInputs(topic.inputs, HardwareInputs({"link", "both_directions"}));
  topic.compute = ExpertsAnswer;
  return topic;
}

}  // namespace

std::vector<Topic> CommunicationTopics() {
  return {AllReduceTopic(),    CollectiveTopic(),     PipelineTopic(),
          DataParallelTopic(), TensorParallelTopic(), ExpertsTopic()};
}

}  // namespace assay::predict
