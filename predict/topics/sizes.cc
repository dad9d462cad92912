#include "predict/topics/sizes.h"

#include <iterator>
#include <utility>

namespace assay::predict {

std::vector<Input> SizeInputs() {
  return {Input::Model(), Input::Of("parameters", Unit::kParameters)
                              .AtLeast(1)
                              .Help("parameters, such as 70B, for a model without a shape")};
}

Result<ModelSize> ModelSizeOf(const Arguments& arguments) {
  const bool model = arguments.Has("model");
  if (model == arguments.Has("parameters")) {
    return model ? Refuse("parameters", "cannot be given together with model", "leave one out")
                 : Refuse("model", "is required, or parameters",
                          "such as --model llama-3-8b or --parameters 70B");
  }
  if (!model) return ModelSize{arguments.Number("parameters"), arguments.Number("parameters")};
  const ModelShape& shape = arguments.Model();
  return ModelSize{static_cast<double>(CountParameters(shape)),
                   static_cast<double>(CountActiveParameters(shape)), &shape};
}

Result<Figure> RequiredPeak(const Hardware& gpu, const std::string& dtype) {
  Result<Figure> peak = gpu.Peak(dtype);
  if (!peak.ok()) return AsRefusal("peak", peak.status());
  return peak;
}

Status AsRefusal(const std::string& input, const Status& error) {
  return Refuse(input, error.message(), error.hint());
}

void AppendInputs(std::vector<Input>& inputs, std::vector<Input> more) {
  inputs.insert(inputs.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

Input RecomputeInput() {
  return Input::Choice("recompute", {"none", "selective", "full"})
      .Default("none")
      .Help(
          "activations computed again in the backward pass: selective those of the attention, full "
          "those of whole blocks");
}

Recompute RecomputeOf(const Arguments& arguments) {
  const std::string& text = arguments.Text("recompute");
  if (text == "full") return Recompute::kFull;
  return text == "selective" ? Recompute::kSelective : Recompute::kNone;
}

}  // namespace assay::predict
