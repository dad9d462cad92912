// The topic model show: quantities that follow from a model's shape.
#include <string>

#include "predict/cost.h"
#include "predict/topics/topics.h"

namespace assay::predict {
namespace {

Result<Answer> ShowShape(const Arguments& arguments) {
  const ModelShape& shape = arguments.Model();
  const std::string& dtype = arguments.Text("dtype");
  const double context = arguments.Number("context");
  const double batch = arguments.Number("batch");
  if (context > static_cast<double>(shape.positions)) {
    return Refuse(
        "context",
        FormatQuantity(context, Unit::kTokens) + " is beyond the " +
            FormatQuantity(static_cast<double>(shape.positions), Unit::kTokens) + " that " +
            shape.name + " was made for",
        "give at most " + FormatQuantity(static_cast<double>(shape.positions), Unit::kCount));
  }
  const auto parameters = static_cast<double>(CountParameters(shape));
  const auto multiplying = static_cast<double>(MultiplyingParameters(shape));
  Answer answer;
  answer.Add("parameters", parameters, Unit::kParameters, "counted from the shape", shape.source);
  if (shape.experts > 0) {
    answer.Add("active_parameters", static_cast<double>(CountActiveParameters(shape)),
               Unit::kParameters, "with the experts that one token is sent to");
  }
  answer.Add("multiplying", multiplying, Unit::kParameters,
             "N_mm: no embedding lookup, positions, norms or biases");
  answer.Add("weights", parameters * BytesOf(dtype), Unit::kBytes, "N w in " + dtype);
  answer.Add("kv_per_token", KvBytesPerToken(shape, 2), Unit::kBytes, "2 L g e k, k = 2 bytes",
             "kipply 2022");
  answer.Add(
      "kv_per_sequence", KvBytes(shape, context, 2), Unit::kBytes,
      shape.local_layers > 0 ? "2 g e k over layers, min(c, window) where local" : "2 L g e k c");
  answer.Add("kv", KvBytes(shape, context, 2) * batch, Unit::kBytes, "kv_per_sequence x B");
  answer.Add("decode_flops", 2 * multiplying + AttentionFlops(shape, context), Unit::kFlop,
             "2 N_mm + 4 L h e c per token");
  answer.Add("prefill_flops", 2 * multiplying * context + PromptAttentionFlops(shape, context),
             Unit::kFlop, "2 N_mm T + 2 L h e T^2 for a prompt of the context, causal");
  answer.Add("training_flops",
             3 * (2 * multiplying + PromptAttentionFlops(shape, context) / context), Unit::kFlop,
             "3 x forward per token, sequences of the context");
  answer.notes.push_back("The KV cache is in 16 bits.");
  return answer;
}

Topic ShowTopic() {
  Topic topic;
  topic.command = "model";
  topic.name = "show";
  topic.summary = "Show parameters, memory and FLOPs of a model";
  topic.example = "llama-3-70b --context 8192 --batch 32";
  topic.inputs = {Input::Model().Required(),
                  Input::Choice("dtype", {"bf16", "fp16", "fp32", "fp8", "int8", "int4"})
                      .Default("bf16")
                      .Help("type of the weights"),
                  Input::Of("context", Unit::kTokens)
                      .Default("2048")
                      .AtLeast(1)
                      .Help("tokens in the cache of a sequence"),
                  Input::Of("batch", Unit::kCount).Default("1").Help("sequences")};
  topic.compute = ShowShape;
  return topic;
}

}  // namespace

std::vector<Topic> ShapeTopics() { return {ShowTopic()}; }

}  // namespace assay::predict
