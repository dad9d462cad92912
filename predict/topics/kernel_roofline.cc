// The topic intensity computes how many operations a kernel performs per byte. The topic roofline
// computes the speed that this intensity allows on a GPU.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "predict/cost.h"
#include "predict/step.h"
#include "predict/topics/kernel.h"

namespace assay::predict {
namespace {

// The work of a kernel that reads each input once and writes each output once.
struct KernelWork {
  double flops = 0;
  double bytes = 0;
  std::string flops_formula;
  std::string bytes_formula;
};

// FLOPs and memory transfers per element, for kernels that touch each element once per pass.
struct ElementKernel {
  double flops;
  double transfers;
};

const std::map<std::string, ElementKernel>& ElementKernels() {
  static const std::map<std::string, ElementKernel> kernels = {
      {"add", {1, 3}},      {"multiply", {1, 3}},  {"relu", {1, 2}},
      {"softmax", {5, 2}},  {"layernorm", {5, 3}}, {"layernorm-one-pass", {5, 2}},
      {"transpose", {0, 2}}};
  return kernels;
}

bool HasTwoLengths(const std::string& op) {
  return op == "qk" || op == "attention" || op == "flash";
}

KernelWork AttentionWork(const std::string& op, double n, double d, double element) {
  if (op == "qk") {
    return {2 * n * n * d, element * (2 * n * d + n * n), "2 n^2 d", "(2 n d + n^2) b"};
  }
  if (op == "attention") {
    return {4 * n * n * d, element * (4 * n * d + 4 * n * n), "4 n^2 d", "(4 n d + 4 n^2) b"};
  }
  return {4 * n * n * d, element * 4 * n * d, "4 n^2 d", "4 n d b"};
}

Result<KernelWork> WorkOf(const Arguments& arguments) {
  const std::string& op = arguments.Text("op");
  const double n = arguments.Number("n");
  const double element = BytesOf(arguments.Text("dtype"));
  if (op == "gemm") {
    for (const char* name : {"m", "k"}) {
      ASSAY_RETURN_IF_ERROR(NeedInput(arguments, name, "for op gemm",
                                      std::string("for a square product, ") + name + "=n"));
    }
    const double m = arguments.Number("m");
    const double k = arguments.Number("k");
    const double weight = arguments.Has("weights") ? BytesOf(arguments.Text("weights")) : element;
    return KernelWork{2 * m * k * n, element * (m * k + m * n) + weight * k * n, "2 m k n",
                      arguments.Has("weights") ? "(m k + m n) b + k n w" : "(m k + k n + m n) b"};
  }
  if (HasTwoLengths(op)) {
    ASSAY_RETURN_IF_ERROR(
        NeedInput(arguments, "d", "for op " + op, "the width of one head, such as d=128"));
    return AttentionWork(op, n, arguments.Number("d"), element);
  }
  const ElementKernel& kernel = ElementKernels().at(op);
  const auto digit = [](double value) { return std::to_string(static_cast<int>(value)); };
  return KernelWork{kernel.flops * n, kernel.transfers * n * element,
                    digit(kernel.flops) + " per element",
                    digit(kernel.transfers) + " transfers x n b"};
}

Result<Answer> Intensity(const Arguments& arguments) {
  ASSAY_ASSIGN_OR_RETURN(const KernelWork work, WorkOf(arguments));
  const std::string& op = arguments.Text("op");
  const std::string& dtype = arguments.Text("dtype");
  Answer answer;
  answer.Add("flops", work.flops, Unit::kFlop, work.flops_formula);
  answer.Add("bytes", work.bytes, Unit::kBytes, work.bytes_formula, "each array once");
  if (HasTwoLengths(op)) {
    const double n = 2 * arguments.Number("n");
    const KernelWork twice = AttentionWork(op, n, arguments.Number("d"), BytesOf(dtype));
    answer.Add("flops_growth", twice.flops / work.flops, Unit::kNumber, "FLOPs at 2n / at n");
    answer.Add("bytes_growth", twice.bytes / work.bytes, Unit::kNumber, "bytes at 2n / at n");
  }
  const double intensity = answer.Add("intensity", work.flops / work.bytes, Unit::kFlopPerByte,
                                      "FLOPs / bytes", "Williams 2009");
  answer.headline = op + " in " + dtype + " does " + FormatQuantity(intensity, Unit::kFlopPerByte);
  if (arguments.Has("gpu") || arguments.Has("peak") || arguments.Has("bandwidth")) {
    ASSAY_ASSIGN_OR_RETURN(const Roof roof, FindRoof(arguments, dtype));
    answer.Add("peak", roof.peak.value, Unit::kFlopPerSecond, "dense " + dtype, roof.peak.source);
    answer.Add("bandwidth", roof.bandwidth.value, Unit::kBytesPerSecond, "memory",
               roof.bandwidth.source);
    answer.Add("ridge", roof.Ridge(), Unit::kFlopPerByte, "peak / bandwidth", "Williams 2009");
    answer.Add("attainable", std::min(roof.peak.value, intensity * roof.bandwidth.value),
               Unit::kFlopPerSecond, "min(peak, intensity x bandwidth)", "Williams 2009");
    const bool compute = intensity >= roof.Ridge();
    answer.dominant = compute ? "peak" : "bandwidth";
    answer.headline += compute ? ": bound by arithmetic" : ": bound by memory";
    answer.headline +=
        ", because the ridge is at " + FormatQuantity(roof.Ridge(), Unit::kFlopPerByte);
  }
  answer.headline += ".";
  answer.notes.push_back(
      "Counts main memory only: a cache that holds an array lowers the bytes, and a second pass "
      "over one raises them.");
  if (op != "gemm" && op != "transpose") {
    answer.notes.push_back(
        HasTwoLengths(op)
            ? "For one head of one sequence, not causal. The exponentials are not counted."
            : "Vector units, which do these operations, are slower than the peak of matrix "
              "products.");
  }
  return answer;
}

Topic IntensityTopic() {
  Topic topic;
  topic.name = "intensity";
  topic.summary = "Count a kernel's operations per byte of memory traffic";
  topic.about =
      "A kernel with fewer operations per byte than the GPU's ridge is bound by memory, whatever "
      "its code looks like. Each array is read or written once.";
  topic.example = "--op gemm --m 4096 --n 4096 --k 4096 --dtype bf16 --gpu \"H100 SXM\"";
  topic.inputs = {
      Input::Choice("op", {"gemm", "add", "multiply", "relu", "layernorm", "layernorm-one-pass",
                           "softmax", "transpose", "qk", "attention", "flash"})
          .Default("gemm")
          .Help("the kernel; qk is Q K^T of one head, attention stores its scores, flash does not"),
      Input::Of("n", Unit::kCount)
          .Required()
          .Help("columns of the product, elements, or tokens of the sequence"),
      Input::Of("m", Unit::kCount).Help("rows of the product"),
      Input::Of("k", Unit::kCount).Help("length of the dot products"),
      Input::Of("d", Unit::kCount).Help("width of a head"),
      Input::Choice("dtype", {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4", "int4"})
          .Default("bf16")
          .Help("type of the elements"),
      Input::Choice("weights", {"fp32", "bf16", "fp16", "fp8", "int8", "fp4", "int4"})
          .Help("type of the k x n matrix, if it is stored in another"),
      Input::Gpu()};
  for (Input& input : HardwareInputs({"peak", "bandwidth"})) {
    topic.inputs.push_back(std::move(input));
  }
  topic.compute = Intensity;
  return topic;
}

// Adds the times that the given work takes, and compares them with a measured time if there is one.
Status AddRooflineTimes(const Arguments& arguments, const Roof& roof, Answer& answer) {
  const double flops = arguments.Number("flops");
  const double bytes = arguments.Number("bytes");
  const double link_bytes = arguments.Number("link_bytes");
  if (bytes > 0) {
    answer.Add("intensity", flops / bytes, Unit::kFlopPerByte, "FLOPs / bytes", "Williams 2009");
    answer.Add("attainable", std::min(roof.peak.value, flops / bytes * roof.bandwidth.value),
               Unit::kFlopPerSecond, "min(peak, intensity x bandwidth)", "Williams 2009");
  }
  const double compute =
      answer.Add("compute", flops / roof.peak.value, Unit::kSeconds, "FLOPs / peak");
  const double memory =
      answer.Add("memory", bytes / roof.bandwidth.value, Unit::kSeconds, "bytes / bandwidth");
  double link = 0;
  if (link_bytes > 0) {
    const std::optional<Figure>& figure = arguments.Gpu().link_bandwidth;
    if (!figure) {
      return Refuse("link", "the bandwidth between the GPUs is not known",
                    "give it in one direction, such as 450GB/s");
    }
    link = answer.Add("communication", link_bytes / figure->value, Unit::kSeconds,
                      "link bytes / link bandwidth, one direction", figure->source);
  }
  const double launches = answer.Add("launch", arguments.Number("launches") * kStreamLaunch,
                                     Unit::kSeconds, "launches x 2.5 us", "measured on H200");
  const double longest = std::max({compute, memory, link});
  answer.dominant = longest < launches   ? "launch"
                    : longest == compute ? "compute"
                    : longest == memory  ? "memory"
                                         : "communication";
  const double ideal = answer.Add("ideal", longest + launches, Unit::kSeconds,
                                  "max(compute, memory, communication) + launch", "Williams 2009");
  answer.headline =
      "At best " + FormatQuantity(ideal, Unit::kSeconds) + ", bound by " + answer.dominant + ".";
  if (!arguments.Has("time")) return Status::Ok();
  const double time = arguments.Number("time");
  if (ideal > time) {
    return Refuse("time",
                  FormatQuantity(time, Unit::kSeconds) + " is " +
                      FormatQuantity(ideal / time, Unit::kFraction) +
                      " of the roofline; at best it takes " + FormatQuantity(ideal, Unit::kSeconds),
                  "check the FLOPs and bytes, the type, that peaks are dense, and whether a cache "
                  "held the data");
  }
  if (flops > 0) {
    answer.Add("achieved_rate", flops / time, Unit::kFlopPerSecond, "FLOPs / time");
    answer.Add("share_of_peak", flops / time / roof.peak.value, Unit::kFraction,
               "achieved rate / peak");
  }
  if (bytes > 0) {
    answer.Add("achieved_bandwidth", bytes / time, Unit::kBytesPerSecond, "bytes / time");
  }
  answer.Add("achieved", ideal / time, Unit::kFraction, "ideal / time");
  return Status::Ok();
}

Result<Answer> RooflineAnswer(const Arguments& arguments) {
  const std::string& dtype = arguments.Text("dtype");
  ASSAY_ASSIGN_OR_RETURN(const Roof roof, FindRoof(arguments, dtype));
  const double element = BytesOf(dtype);
  Answer answer;
  answer.Add("peak", roof.peak.value, Unit::kFlopPerSecond, "dense " + dtype, roof.peak.source);
  answer.Add("bandwidth", roof.bandwidth.value, Unit::kBytesPerSecond, "memory",
             roof.bandwidth.source);
  answer.Add("ridge", roof.Ridge(), Unit::kFlopPerByte, "peak / bandwidth", "Williams 2009");
  answer.Add("square_at_ridge", std::ceil(1.5 * element * roof.Ridge()), Unit::kCount,
             "least n with 2 n^3 / (3 n^2 b) >= ridge");
  answer.Add("rows_at_ridge", element * roof.Ridge() / 2, Unit::kNumber,
             "ridge x b/2: rows from which a product with a large matrix is bound by compute",
             "scaling book, chapter 1");
  answer.headline = "The ridge is at " + FormatQuantity(roof.Ridge(), Unit::kFlopPerByte) + ".";
  if (arguments.Number("flops") > 0 || arguments.Number("bytes") > 0 ||
      arguments.Number("link_bytes") > 0) {
    ASSAY_RETURN_IF_ERROR(AddRooflineTimes(arguments, roof, answer));
  } else if (arguments.Has("time")) {
    return Refuse("flops", "is required with a measured time", "give flops, bytes or both");
  }
  answer.notes.push_back(
      "Assumes that arithmetic, memory and links overlap perfectly and reach their peaks; real "
      "kernels take longer.");
  return answer;
}

Topic RooflineTopic() {
  Topic topic;
  topic.name = "roofline";
  topic.summary = "Bound a kernel's time by peak, memory bandwidth and link";
  topic.about =
      "No kernel is faster than its FLOPs at the peak, its bytes at the memory bandwidth, or its "
      "messages at the link's. With a measured time, says which share of that it reached.";
  topic.example = "--gpu \"H100 SXM\" --flops 137.4GFLOP --bytes 100.7MB --time 200us";
  topic.inputs = {
      Input::Gpu(),
      Input::Choice("dtype", {"bf16", "fp16", "tf32", "fp32", "fp64", "fp8", "int8", "fp4"})
          .Default("bf16")
          .Help("type that chooses the peak"),
      Input::Of("flops", Unit::kFlop)
          .Default("0")
          .AtLeast(0)
          .AtMost(1e29)
          .Help("operations of the kernel"),
      Input::Of("bytes", Unit::kBytes)
          .Default("0")
          .AtLeast(0)
          .AtMost(1e24)
          .Help("bytes read from and written to memory"),
      Input::Of("link_bytes", Unit::kBytes)
          .Default("0")
          .AtLeast(0)
          .AtMost(1e24)
          .Help("bytes that each GPU sends"),
      Input::Of("launches", Unit::kCount).Default("0").AtLeast(0).Help("kernels launched"),
      Input::Of("time", Unit::kSeconds).Help("measured time, to be compared")};
  for (Input& input : HardwareInputs({"peak", "bandwidth", "link", "both_directions"})) {
    topic.inputs.push_back(std::move(input));
  }
  topic.compute = RooflineAnswer;
  return topic;
}

}  // namespace

std::vector<Topic> RooflineTopics() { return {IntensityTopic(), RooflineTopic()}; }

}  // namespace assay::predict
