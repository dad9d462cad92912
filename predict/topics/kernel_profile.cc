// The topic profile: how much of a layer's time each kernel takes, from measured times.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "common/text.h"
#include "predict/topics/kernel.h"

namespace assay::predict {
namespace {

// One kernel of the profile, written as "qkv:12us:compute".
struct ProfiledKernel {
  std::string name;
  double seconds = 0;
  std::string regime;  // "compute", "memory", "launch"; empty: not given.
};

constexpr size_t kMostKernels = 100;

Result<ProfiledKernel> ReadKernel(std::string_view text) {
  const std::string example = "such as kernels=\"qkv:12us:compute,attention:8us:memory\"";
  const auto parts = Split(text, ':');
  if (parts.size() < 2 || parts.size() > 3 || parts[0].empty()) {
    return Refuse("kernels", Quote(text) + " must be NAME:TIME or NAME:TIME:REGIME", example);
  }
  ProfiledKernel kernel;
  kernel.name = std::string(parts[0]);
  const Result<Quantity> time = ParseQuantity(parts[1], Unit::kSeconds);
  if (!time.ok()) return Refuse("kernels", time.status().message(), example);
  kernel.seconds = time->value;
  if (!(kernel.seconds > 0) || kernel.seconds > 1e9) {
    return Refuse("kernels", Quote(parts[1]) + " must be above 0 and at most 1e9 s", example);
  }
  if (parts.size() == 3) {
    kernel.regime = std::string(parts[2]);
    if (kernel.regime != "compute" && kernel.regime != "memory" && kernel.regime != "launch") {
      return Refuse("kernels", Quote(parts[2]) + " must be compute, memory or launch", example);
    }
  }
  return kernel;
}

Result<std::vector<ProfiledKernel>> ReadKernels(const std::string& text) {
  std::vector<ProfiledKernel> kernels;
  for (const std::string_view part : Split(text, ',')) {
    ASSAY_ASSIGN_OR_RETURN(ProfiledKernel kernel, ReadKernel(part));
    kernels.push_back(std::move(kernel));
    if (kernels.size() > kMostKernels) {
      return Refuse("kernels", "has more than 100 kernels", "group those with the same name");
    }
  }
  return kernels;
}

// Adds the number of tokens that a matrix product at peak rate could process in the given time.
Status AddTokens(const Arguments& arguments, Answer& answer) {
  if (!arguments.Has("gemm_time")) return Status::Ok();
  for (const char* name : {"n", "k"}) {
    ASSAY_RETURN_IF_ERROR(NeedInput(arguments, name, "with gemm_time",
                                    "the columns (n) and the depth (k) of the product"));
  }
  if (!arguments.Has("gpu") && !arguments.Has("peak")) {
    return Refuse("gpu", "is required with gemm_time unless peak is given",
                  "such as gpu=\"H100 SXM\"");
  }
  const Result<Figure> peak = arguments.Gpu().Peak(arguments.Text("dtype"));
  if (!peak.ok()) return Refuse("peak", peak.status().message(), peak.status().hint());
  answer.Add("peak", peak->value, Unit::kFlopPerSecond, "dense " + arguments.Text("dtype"),
             peak->source);
  answer.Add("gemm_tokens",
             arguments.Number("gemm_time") * peak->value /
                 (2 * arguments.Number("n") * arguments.Number("k")),
             Unit::kTokens, "time x peak / (2 n k): rows that the peak multiplies in this time");
  return Status::Ok();
}

Result<Answer> ProfileAnswer(const Arguments& arguments) {
  ASSAY_ASSIGN_OR_RETURN(std::vector<ProfiledKernel> kernels,
                         ReadKernels(arguments.Text("kernels")));
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  double total = 0;
  for (const ProfiledKernel& kernel : kernels) total += kernel.seconds;
  Answer answer;
  answer.Add("layer", total, Unit::kSeconds, "sum of the kernels", "given");
  const double model =
      answer.Add("model", total * arguments.Number("layers"), Unit::kSeconds, "layer x L");
  for (const char* regime : {"compute", "memory", "launch"}) {
    double seconds = 0;
    for (const ProfiledKernel& kernel : kernels) {
      if (kernel.regime == regime) seconds += kernel.seconds;
    }
    if (seconds == 0) continue;
    answer.Add(std::string("share_") + regime, seconds / total, Unit::kFraction,
               "kernels of this regime / layer");
  }
  const ProfiledKernel& largest = kernels.front();
  answer.Add("largest", largest.seconds, Unit::kSeconds, "longest kernel: " + Cut(largest.name));
  const double share =
      answer.Add("largest_share", largest.seconds / total, Unit::kFraction, "largest / layer");
  if (kernels.size() > 1) {
    answer.Add("limit", total / (total - largest.seconds), Unit::kNumber,
               "T / (T - largest): gain if it took no time", "Amdahl 1967");
  }
  ASSAY_RETURN_IF_ERROR(AddTokens(arguments, answer));
  answer.dominant = "largest";
  answer.headline = "A layer takes " + FormatQuantity(total, Unit::kSeconds) + ", all of them " +
                    FormatQuantity(model, Unit::kSeconds) + "; " + Quote(largest.name) + " is " +
                    FormatQuantity(share, Unit::kFraction) + ".";
  Grid grid;
  grid.title = "Kernels, longest first";
  grid.columns = {{"kernel", Unit::kNumber},
                  {"time", Unit::kSeconds},
                  {"share", Unit::kFraction},
                  {"regime", Unit::kNumber}};
  for (const ProfiledKernel& kernel : kernels) {
    Grid::Cell regime = std::monostate();
    if (!kernel.regime.empty()) regime = kernel.regime;
    grid.rows.push_back(
        {Sanitize(Cut(kernel.name)), kernel.seconds, kernel.seconds / total, std::move(regime)});
  }
  answer.grids.push_back(std::move(grid));
  answer.notes.push_back(
      "Sums the kernels as if none overlapped, and leaves out gaps between them.");
  return answer;
}

Topic ProfileTopic() {
  Topic topic;
  topic.name = "profile";
  topic.summary = "Add up the kernels of a layer and show which ones matter";
  topic.about =
      "Give each kernel's measured time and, if known, what bounds it. With gemm_time, says how "
      "many tokens the peak could multiply in that time.";
  topic.example = "--kernels \"mlp:310us:compute,qkv:95us:compute,norm:12us:memory\" --layers 32";
  topic.inputs = {
      Input::Text("kernels").Required().Help(
          "kernels as NAME:TIME or NAME:TIME:REGIME, separated by commas; the regime is compute, "
          "memory or launch"),
      Input::Of("layers", Unit::kCount).Default("1").Help("layers with these kernels"),
      Input::Of("gemm_time", Unit::kSeconds).Help("time of a product, to be told in tokens"),
      Input::Of("n", Unit::kCount).Help("columns of that product"),
      Input::Of("k", Unit::kCount).Help("length of its dot products"),
      Input::Choice("dtype", {"bf16", "fp16", "tf32", "fp32", "fp8", "int8"})
          .Default("bf16")
          .Help("type of its elements"),
      Input::Gpu()};
  for (Input& input : HardwareInputs({"peak"})) topic.inputs.push_back(std::move(input));
  topic.compute = ProfileAnswer;
  return topic;
}

}  // namespace

std::vector<Topic> ProfileTopics() { return {ProfileTopic()}; }

}  // namespace assay::predict
