// The topics decode-rule and serving-price, which need no model shape.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "predict/cost.h"
#include "predict/topics/serving.h"

namespace assay::predict {
namespace {

Status CheckDecodeRuleFit(const Hardware& gpu, double needed, double weights, double per_sequence,
                          double gpus) {
  const std::optional<double> room = UsableMemory(gpu);
  if (!room || needed <= *room * gpus) return Status::Ok();
  const double most = std::floor((*room * gpus - weights) / per_sequence);
  const bool fits = per_sequence > 0 && most >= 1;
  return Refuse(fits ? "batch" : "gpus",
                "does not fit: " + FormatQuantity(needed, Unit::kBytes) +
                    " of weights and KV "
                    "cache; " +
                    FormatQuantity(*room * gpus, Unit::kBytes) + " may be used",
                (fits ? "what fits: batch " + FormatQuantity(most, Unit::kCount) + "; or gpus "
                      : "what fits: gpus ") +
                    FormatQuantity(std::ceil(needed / *room), Unit::kCount));
}

Result<Answer> DecodeRuleAnswer(const Arguments& arguments) {
  const Hardware& gpu = arguments.Gpu();
  const std::string& dtype = arguments.Text("weights");
  const double w = BytesOf(dtype);
  const double n = arguments.Number("parameters");
  const double active = arguments.Has("active") ? arguments.Number("active") : n;
  if (active > n) {
    return Refuse("active", "is more than all parameters",
                  "give at most " + FormatQuantity(n, Unit::kParameters));
  }
  const double batch = arguments.Number("batch");
  const double gpus = arguments.Number("gpus");
  const double sequence = arguments.Number("kv_per_token") * arguments.Number("context");
  const Result<Figure> peak = gpu.Peak(arguments.Text("arithmetic"));
  if (!peak.ok()) return RefuseUnknownFigure(peak.status());
  if (!gpu.memory_bandwidth) {
    return Refuse("bandwidth", "is required without a GPU", "give --gpu or --bandwidth 3.35TB/s");
  }
  ASSAY_RETURN_IF_ERROR(CheckDecodeRuleFit(gpu, n * w + batch * sequence, n * w, sequence, gpus));
  const double bandwidth = gpu.memory_bandwidth->value * gpus;
  const double rate = peak->value * gpus;
  Answer answer;
  const double weights = answer.Add("weights", n * w, Unit::kBytes, "N w");
  const double kv = answer.Add("kv", batch * sequence, Unit::kBytes, "B c x KV per token");
  answer.Add("needed", weights + kv, Unit::kBytes, "weights + KV");
  answer.Add("bandwidth", bandwidth, Unit::kBytesPerSecond, "of all GPUs",
             gpu.memory_bandwidth->source);
  answer.Add("peak", rate, Unit::kFlopPerSecond,
             "dense " + arguments.Text("arithmetic") + ", of all GPUs", peak->source);
  answer.Add("intensity", 2 * batch / w, Unit::kFlopPerByte, "2 B / w: of the weights");
  const double kv_time = answer.Add("kv_time", kv / bandwidth, Unit::kSeconds, "B KV / BW");
  const double compute =
      answer.Add("compute", 2 * batch * active / rate, Unit::kSeconds,
                 arguments.Has("active") ? "2 B N_active / peak" : "2 B N / peak");
  const double weights_time =
      answer.Add("weights_time", weights / bandwidth, Unit::kSeconds, "weights / BW");
  const double step =
      answer.Add("step", kv_time + std::max(compute, weights_time), Unit::kSeconds,
                 "B KV/BW + max(2 B N/peak, weights/BW)", "scaling book 0819a7d8, inference.md");
  answer.Add("tokens_per_second", batch / step, Unit::kTokensPerSecond, "B / step");
  answer.Add("per_user", 1 / step, Unit::kTokensPerSecond, "1 / step");
  answer.Add("per_gpu", batch / step / gpus, Unit::kTokensPerSecond, "B / (step x GPUs)");
  answer.Add("compute_bound_from", rate / bandwidth * w / 2 * (n / active), Unit::kNumber,
             "B = ridge x w/2 (x N / N_active), KV left out", "scaling book 0819a7d8");
  answer.dominant = kv_time > std::max(compute, weights_time) ? "kv_time"
                    : compute > weights_time                  ? "compute"
                                                              : "weights_time";
  answer.headline = "A step takes at least " + FormatQuantity(step, Unit::kSeconds) + ": at most " +
                    FormatQuantity(batch / step, Unit::kTokensPerSecond) + ".";
  answer.notes.push_back(
      "A lower bound of the time: no launches, no communication, every figure reached. All weights "
      "are read in each step. \"predict decode\" uses the model's shape.");
  return answer;
}

Topic DecodeRuleTopic() {
  Topic topic;
  topic.name = "decode-rule";
  topic.summary = "Bound a decode step by the rule of the scaling book, from parameters alone";
  topic.about =
      "The step reads the weights once and the KV cache of each sequence: B KV/BW + max(2 B "
      "N/peak, weights/BW). Bandwidth and peak are of one GPU and are multiplied by --gpus.";
  topic.example =
      "--parameters 30B --weights int8 --kv-per-token 100kB --context 8192 --batch 4 --gpus 16 "
      "--bandwidth 810GB/s --peak 197TFLOP/s";
  topic.inputs = {
      Input::Of("parameters", Unit::kParameters).Required().AtLeast(1).Help("of the model"),
      Input::Of("active", Unit::kParameters)
          .AtLeast(1)
          .Help("parameters that a token uses, for mixtures of experts"),
      Input::Choice("weights", {"bf16", "fp16", "fp32", "fp8", "int8", "int4"})
          .Default("bf16")
          .Help("type of the weights, all of them and without scales"),
      Input::Choice("arithmetic", {"bf16", "fp16", "fp8", "int8"})
          .Default("bf16")
          .Help("type that products multiply in"),
      Input::Of("kv_per_token", Unit::kBytes)
          .Default("0")
          .AtLeast(0)
          .Help("bytes of KV cache per token; see \"predict kv\""),
      Input::Of("batch", Unit::kCount).Default("1").Help("sequences per step"),
      Input::Of("context", Unit::kTokens).Default("1").AtLeast(1).Help("tokens in each cache"),
      Input::Of("gpus", Unit::kCount)
          .Default("1")
          .AtMost(1e6)
          .Help("GPUs that share weights and cache"),
      Input::Gpu()};
  for (Input& input : HardwareInputs({"peak", "bandwidth", "memory"})) {
    topic.inputs.push_back(std::move(input));
  }
  topic.compute = DecodeRuleAnswer;
  return topic;
}

Result<Answer> ServingPriceAnswer(const Arguments& arguments) {
  const double hourly = arguments.Number("price") * arguments.Number("gpus");
  const double used = arguments.Number("utilisation");
  Answer answer;
  const std::string& currency = arguments.currency();
  answer.Add("per_hour", hourly, Unit::kMoneyPerHour, "price x GPUs");
  answer.Add("per_day", hourly * 24, Unit::kMoney, "x 24");
  const bool has_output = arguments.Has("output_rate");
  if (!has_output && !arguments.Has("input_rate") && !arguments.Has("target")) {
    return Refuse("output_rate", "is required", "give --output-rate, --input-rate or --target");
  }
  // Returns the cost of a million tokens if `rate` tokens are generated per second.
  const auto million = [&](double rate) { return hourly / (rate * used * 3600) * 1e6; };
  if (has_output) {
    const double cost =
        answer.Add("per_million_output", million(arguments.Number("output_rate")), Unit::kMoney,
                   "price per hour/(tok/s x utilisation x 3600) x 1e6");
    answer.dominant = "per_million_output";
    answer.headline =
        "A million output tokens cost " + FormatQuantity(cost, Unit::kMoney, currency) + ".";
  }
  if (arguments.Has("input_rate")) {
    const double cost = answer.Add("per_million_input", million(arguments.Number("input_rate")),
                                   Unit::kMoney, "as output, with the prefill rate");
    if (answer.headline.empty()) {
      answer.headline =
          "A million input tokens cost " + FormatQuantity(cost, Unit::kMoney, currency) + ".";
      answer.dominant = "per_million_input";
    }
  }
  if (arguments.Has("target")) {
    const double rate =
        answer.Add("rate_for_target", million(1) / arguments.Number("target"),
                   Unit::kTokensPerSecond, "price per hour x 1e6/(target x utilisation x 3600)");
    if (arguments.Has("user_rate")) {
      const double batch =
          answer.Add("batch_for_target", std::ceil(rate / arguments.Number("user_rate")),
                     Unit::kCount, "ceil(rate / tok/s per user)");
      answer.headline += (answer.headline.empty() ? "" : " ") + std::string("The target needs ") +
                         FormatQuantity(batch, Unit::kCount) + " users at a time.";
    }
  }
  answer.notes.push_back(
      "Rates are while busy; the utilisation is the share of the hour in which tokens are sold. "
      "Left out: storage, network, people. Input and output use the same GPUs one after the other: "
      "add both prices.");
  return answer;
}

Topic ServingPriceTopic() {
  Topic topic;
  topic.name = "serving-price";
  topic.summary = "Compute the price of a million tokens from GPU-hours and tokens per second";
  topic.about =
      "Price per hour divided by the tokens made in an hour. Input and output tokens are priced "
      "apart. With --target, says what rate or batch reaches that price.";
  topic.example = "--price '2.00 USD' --output-rate 2400 --utilisation 70%";
  topic.inputs = {
      Input::Of("price", Unit::kMoneyPerHour).Required().Help("of one GPU for one hour"),
      Input::Of("gpus", Unit::kCount).Default("1").Help("GPUs that make the tokens together"),
      Input::Of("output_rate", Unit::kTokensPerSecond)
          .Help("output tokens per second of all GPUs, while busy"),
      Input::Of("input_rate", Unit::kTokensPerSecond)
          .Help("prompt tokens per second of all GPUs, while busy"),
      Input::Of("utilisation", Unit::kFraction).Default("1").Help("share of the time that is sold"),
      Input::Of("target", Unit::kMoney).Help("price wanted for a million output tokens"),
      Input::Of("user_rate", Unit::kTokensPerSecond)
          .Help("output tokens per second of one user, for the batch that reaches the target")};
  topic.compute = ServingPriceAnswer;
  return topic;
}

}  // namespace

std::vector<Topic> ServingRuleTopics() { return {DecodeRuleTopic(), ServingPriceTopic()}; }

}  // namespace assay::predict
