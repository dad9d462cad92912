// The topics matmul (a matrix product on one GPU, or divided over several) and copy.
#include <string>

#include "predict/cost.h"
#include "predict/step.h"
#include "predict/topics/topics.h"

namespace assay::predict {
namespace {

// The division of Y = X W over n GPUs. `shard` is the product that each GPU computes.
struct Division {
  Product shard;
  double shard_bytes = 0;       // Of the operand that is divided.
  double replicated_bytes = 0;  // Of the operand that each GPU holds whole.
  double reduced_bytes = 0;     // Of the array that is all-reduced.
};

Result<Division> Divide(const Arguments& arguments, const Product& whole) {
  const double n = arguments.Number("gpus");
  const std::string& by = arguments.Text("split");
  const double element = BytesOf(whole.dtype);
  Division division{whole, 0, 0, 0};
  double& divided = by == "rows"      ? division.shard.m
                    : by == "columns" ? division.shard.n
                                      : division.shard.k;
  if (static_cast<int64_t>(divided) % static_cast<int64_t>(n) != 0) {
    return Refuse("gpus",
                  "the dimension that is split, " + FormatQuantity(divided, Unit::kCount) +
                      ", is not divisible by " + FormatQuantity(n, Unit::kCount) + " GPUs",
                  "choose gpus so that each GPU gets an equal part, or another split");
  }
  divided /= n;
  const double x = element * whole.m * whole.k;
  const double w = element * whole.k * whole.n;
  if (by == "rows") {
    division.shard_bytes = x / n;
    division.replicated_bytes = w;
  } else if (by == "columns") {
    division.shard_bytes = w / n;
    division.replicated_bytes = x;
  } else {
    division.shard_bytes = (x + w) / n;
    division.reduced_bytes = element * whole.m * whole.n;
  }
  return division;
}

Result<Answer> Matmul(const Arguments& arguments) {
  const double n = arguments.Number("gpus");
  const Hardware gpu = WithLink(arguments.Gpu(), static_cast<int64_t>(n));
  const Product whole{arguments.Number("m"), arguments.Number("n"), arguments.Number("k"),
                      arguments.Text("dtype"), ""};
  ASSAY_ASSIGN_OR_RETURN(const Division division, Divide(arguments, whole));
  ASSAY_ASSIGN_OR_RETURN(const ProductTime time, Estimate(gpu, division.shard));
  ASSAY_ASSIGN_OR_RETURN(const Figure peak, gpu.Peak(whole.dtype));
  Answer answer;
  answer.Add("flops", time.flops, Unit::kFlop, "2 m n k per GPU");
  answer.Add("bytes", time.bytes, Unit::kBytes, "(m k + k n + m n) b per GPU, each once");
  answer.Add("intensity", time.flops / time.bytes, Unit::kFlopPerByte, "FLOPs / bytes",
             "Williams 2009");
  answer.Add("peak", peak.value, Unit::kFlopPerSecond, "dense " + whole.dtype, peak.source);
  answer.Add("bandwidth", gpu.memory_bandwidth->value, Unit::kBytesPerSecond, "memory",
             gpu.memory_bandwidth->source);
  answer.Add("ridge", peak.value / gpu.memory_bandwidth->value, Unit::kFlopPerByte,
             "peak / bandwidth", "Williams 2009");
  answer.Add("efficiency", time.efficiency, Unit::kFraction, "of the roofline", time.source);
  if (time.fixed_seconds > 0) {
    answer.Add("fixed", time.fixed_seconds, Unit::kSeconds,
               "least time of a measured product beyond its ideal time", "fitted");
  }
  answer.Add("compute", time.compute_seconds, Unit::kSeconds, "FLOPs / (peak x efficiency)");
  answer.Add("memory", time.memory_seconds, Unit::kSeconds, "bytes / (bandwidth x efficiency)");
  answer.dominant = time.compute_bound ? "compute" : "memory";
  double communication = 0;
  if (n > 1) {
    answer.Add("shard", division.shard_bytes, Unit::kBytes, "divided operands per GPU");
    answer.Add("replicated", division.replicated_bytes, Unit::kBytes, "operand held whole per GPU");
    if (division.reduced_bytes > 0) {
      ASSAY_ASSIGN_OR_RETURN(
          const AllReduceTime reduce,
          EstimateAllReduce(gpu, division.reduced_bytes, static_cast<int64_t>(n)));
      answer.Add("sent", reduce.sent_bytes, Unit::kBytes, "2 (n-1)/n x m n b per GPU",
                 "Patarasuk 2009");
      communication = answer.Add("communication", reduce.seconds, Unit::kSeconds, reduce.formula,
                                 reduce.source);
      answer.Add("communication_ratio", communication / time.seconds, Unit::kNumber,
                 "communication / product");
      if (communication > time.seconds) answer.dominant = "communication";
    } else {
      answer.Add("sent", 0, Unit::kBytes, "the result stays divided");
    }
  }
  const double total = time.seconds + communication;
  answer.Add(
      "time", total, Unit::kSeconds,
      n > 1 ? "max(compute, memory) + fixed + communication" : "max(compute, memory) + fixed");
  answer.Add("rate", 2 * whole.m * whole.n * whole.k / total, Unit::kFlopPerSecond,
             "2 m n k / time, all GPUs");
  answer.headline = "The product takes " + FormatQuantity(total, Unit::kSeconds) + " on " +
                    FormatQuantity(n, Unit::kCount) + " x " + gpu.name + ": " +
                    FormatQuantity(2 * whole.m * whole.n * whole.k / total, Unit::kFlopPerSecond) +
                    ", bound by " + answer.dominant + ".";
  answer.notes.push_back(
      "Left out: launches (about 2.5 us each), and caches that hold an operand.");
  return answer;
}

Topic MatmulTopic() {
  Topic topic;
  topic.name = "matmul";
  topic.summary = "Predict a matrix product, on one GPU or divided over several";
  topic.about =
      "Y = X W with X of m x k and W of k x n. Divided by rows, W is on every GPU and nothing is "
      "sent; by columns, X is; by k, each GPU has a part of each and all-reduces Y.";
  topic.example = "--gpu H200 --m 4096 --n 4096 --k 4096";
  topic.inputs = {Input::Gpu(),
                  Input::Of("m", Unit::kCount).Required().Help("rows of X and Y"),
                  Input::Of("n", Unit::kCount).Required().Help("columns of W and Y"),
                  Input::Of("k", Unit::kCount).Required().Help("length of the dot products"),
                  Input::Choice("dtype", {"bf16", "fp16", "tf32", "fp32", "fp64", "fp8", "int8"})
                      .Default("bf16")
                      .Help("type of the elements"),
                  Input::Of("gpus", Unit::kCount).Default("1").AtMost(1024).Help("GPUs"),
                  Input::Choice("split", {"rows", "columns", "k"})
                      .Default("columns")
                      .Help("what is divided over the GPUs")};
  for (Input& input : HardwareInputs({"peak", "bandwidth", "link", "both_directions"})) {
    topic.inputs.push_back(std::move(input));
  }
  topic.compute = Matmul;
  return topic;
}

Result<Answer> CopyAnswer(const Arguments& arguments) {
  const Hardware& gpu = arguments.Gpu();
  const auto& bandwidth = gpu.copy_bandwidth ? gpu.copy_bandwidth : gpu.memory_bandwidth;
  if (!bandwidth) {
    return Refuse("bandwidth", "the memory bandwidth of " + gpu.name + " is not known",
                  "give it, such as --bandwidth 3.35TB/s");
  }
  const double bytes = arguments.Number("bytes");
  Answer answer;
  answer.Add("bandwidth", bandwidth->value, Unit::kBytesPerSecond, "read plus written",
             bandwidth->source);
  const double moved = answer.Add("moved", 2 * bytes, Unit::kBytes, "read plus written: 2 S");
  const double time =
      answer.Add("time", moved / bandwidth->value, Unit::kSeconds, "2 S / bandwidth");
  answer.headline = "A copy of " + FormatQuantity(bytes, Unit::kBytes) + " in the memory of " +
                    gpu.name + " takes " + FormatQuantity(time, Unit::kSeconds) + ".";
  answer.notes.push_back(
      "Left out: the launch (about 2.5 us), and copies that fit in the L2 cache.");
  return answer;
}

Topic CopyTopic() {
  Topic topic;
  topic.name = "copy";
  topic.summary = "Predict a copy within a GPU's memory";
  topic.example = "--gpu H200 --bytes 1GiB";
  topic.inputs = {Input::Gpu(),
                  Input::Of("bytes", Unit::kBytes).Required().Help("size of the array")};
  for (Input& input : HardwareInputs({"bandwidth"})) topic.inputs.push_back(std::move(input));
  topic.compute = CopyAnswer;
  return topic;
}

}  // namespace

std::vector<Topic> MatmulTopics() { return {MatmulTopic(), CopyTopic()}; }

}  // namespace assay::predict
