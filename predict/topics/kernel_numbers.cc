// The topic quantise computes the sizes and errors of number formats. The topic text computes
// quantities that follow from counts of characters and tokens.
#include <cmath>
#include <map>
#include <string>

#include "predict/topics/kernel.h"

namespace assay::predict {
namespace {

struct NumberFormat {
  double bits;
  double largest;  // Finite value.
  bool integer;
  const char* source;
};

const std::map<std::string, NumberFormat>& NumberFormats() {
  static const std::map<std::string, NumberFormat> formats = {
      {"fp32", {32, 3.4028234663852886e38, false, "IEEE 754"}},
      {"fp16", {16, 65504, false, "IEEE 754"}},
      {"bf16", {16, 3.3895313892515355e38, false, "8 exponent bits, 7 of mantissa"}},
      {"fp8_e4m3", {8, 448, false, "Micikevicius 2022"}},
      {"fp8_e5m2", {8, 57344, false, "Micikevicius 2022"}},
      {"fp4_e2m1", {4, 6, false, "OCP MX 1.0"}},
      {"int8", {8, 127, true, "2^7 - 1"}},
      {"int6", {6, 31, true, "2^5 - 1"}},
      {"int5", {5, 15, true, "2^4 - 1"}},
      {"int4", {4, 7, true, "2^3 - 1"}},
      {"int3", {3, 3, true, "2^2 - 1"}},
      {"int2", {2, 1, true, "2^1 - 1"}}};
  return formats;
}

// Returns the expected largest absolute value among `count` samples from a standard normal
// distribution. Treats this as the maximum of twice as many samples, because a sample can be large
// in either direction, and uses the limiting (Gumbel) distribution of the maximum.
double ExpectedLargestNormal(double count) {
  constexpr double kEulerGamma = 0.5772156649015329;
  constexpr double kFourPi = 12.566370614359172;
  const double logarithm = std::log(2 * count);
  const double root = std::sqrt(2 * logarithm);
  return root - (std::log(logarithm) + std::log(kFourPi)) / (2 * root) + kEulerGamma / root;
}

void AddScaleTerms(const Arguments& arguments, const NumberFormat& format, Answer& answer) {
  double largest = 0;
  if (arguments.Has("max_abs")) {
    largest = answer.Add("max_abs", arguments.Number("max_abs"), Unit::kNumber, "max |x|", "given");
  } else {
    largest = answer.Add("max_abs", ExpectedLargestNormal(arguments.Number("samples")),
                         Unit::kNumber, "a - (ln ln 2n + ln 4 pi)/2a + 0.577/a, a = sqrt(2 ln 2n)",
                         "expected of N(0, 1), Gumbel limit");
  }
  const double scale =
      answer.Add("scale", largest / format.largest, Unit::kNumber, "max |x| / largest");
  if (format.integer) {
    answer.Add("mean_error", scale / 4, Unit::kNumber, "s/4: errors are even in +-s/2");
    answer.Add("largest_error", scale / 2, Unit::kNumber, "s/2");
  }
}

Result<Answer> QuantiseAnswer(const Arguments& arguments) {
  const NumberFormat& format = NumberFormats().at(arguments.Text("format"));
  Answer answer;
  answer.Add("largest", format.largest, Unit::kNumber, "largest finite value", format.source);
  double bits = format.bits;
  if (arguments.Has("group")) {
    const double scales = arguments.Number("scale_bits") + arguments.Number("zero_bits");
    bits += scales / arguments.Number("group");
  }
  answer.Add("bits", bits, Unit::kBits, "bits + (scale + zero point) / group");
  if (arguments.Has("parameters")) {
    const double parameters = arguments.Number("parameters");
    const double bytes =
        answer.Add("bytes", parameters * bits / 8, Unit::kBytes, "N x bits/8, scales included");
    answer.Add("share_of_bf16", bits / 16, Unit::kFraction, "bits / 16");
    answer.headline = FormatQuantity(parameters, Unit::kParameters) + " parameters take " +
                      FormatQuantity(bytes, Unit::kBytes) + ".";
    answer.notes.push_back(
        "Assumes that all parameters are quantised; embeddings and norms often stay in 16 bits.");
  } else {
    answer.headline =
        "A parameter takes " + FormatQuantity(bits, Unit::kBits) + ", scales included.";
  }
  if (arguments.Has("max_abs") && arguments.Has("samples")) {
    return Refuse("samples", "cannot be combined with max_abs", "give one of them");
  }
  if (arguments.Has("max_abs") || arguments.Has("samples")) {
    AddScaleTerms(arguments, format, answer);
  }
  return answer;
}

Topic QuantiseTopic() {
  Topic topic;
  topic.name = "quantise";
  topic.summary = "Size quantised weights, and estimate the rounding error";
  topic.about =
      "The size counts the scales of each group. The error is that of symmetric rounding to "
      "s = max |x| / largest, from the largest value or from the number of normal samples that "
      "share a scale: all of a tensor, a row or a group.";
  topic.example = "--format int4 --group 128 --parameters 70B";
  std::vector<std::string> names;
  for (const auto& [name, format] : NumberFormats()) names.push_back(name);
  topic.inputs = {
      Input::Choice("format", std::move(names))
          .Default("int8")
          .Help("format of the stored numbers"),
      Input::Of("parameters", Unit::kParameters).Help("parameters of the model"),
      Input::Of("group", Unit::kCount).Help("parameters that share a scale"),
      Input::Of("scale_bits", Unit::kNumber).Default("16").AtMost(64).Help("bits of a scale"),
      Input::Of("zero_bits", Unit::kNumber)
          .Default("0")
          .AtLeast(0)
          .AtMost(64)
          .Help("bits of a zero point"),
      Input::Of("max_abs", Unit::kNumber).Help("largest absolute value that shares a scale"),
      Input::Of("samples", Unit::kCount).Help("samples of N(0, 1) that share a scale")};
  topic.compute = QuantiseAnswer;
  return topic;
}

// The largest loss that is accepted. Its exp() is finite by a wide margin.
constexpr double kLargestLoss = 100;

// Adds the time to the first token, if at least one of its parts is given.
void AddFirstTokenParts(const Arguments& arguments, Answer& answer) {
  double sum = 0;
  std::string formula;
  for (const char* part : {"network", "queue", "prefill"}) {
    if (!arguments.Has(part)) continue;
    sum += answer.Add(part, arguments.Number(part), Unit::kSeconds, "part of the first token",
                      "given");
    formula += (formula.empty() ? "" : " + ") + std::string(part);
  }
  if (formula.empty()) return;
  answer.Add("ttft", sum, Unit::kSeconds, formula);
  if (answer.headline.empty()) {
    answer.headline = "The first token comes after " + FormatQuantity(sum, Unit::kSeconds) + ".";
  }
}

Result<Answer> TextAnswer(const Arguments& arguments) {
  Answer answer;
  double per_token = 0;
  if (arguments.Has("characters")) {
    const double characters = arguments.Number("characters");
    if (arguments.Has("tokens")) {
      const double tokens = arguments.Number("tokens");
      per_token = answer.Add("characters_per_token", characters / tokens, Unit::kNumber,
                             "characters / tokens");
      answer.headline = FormatQuantity(per_token, Unit::kNumber) + " characters per token.";
    } else {
      per_token = answer.Add("characters_per_token", arguments.Number("characters_per_token"),
                             Unit::kNumber, "of the tokenizer",
                             arguments.Given("characters_per_token") ? "given" : "English text");
      const double tokens = answer.Add("tokens", characters / per_token, Unit::kTokens,
                                       "characters / characters per token");
      answer.headline = "About " + FormatQuantity(tokens, Unit::kTokens) + ".";
    }
  } else if (arguments.Has("tokens")) {
    return Refuse("characters", "is required with tokens", "give both, or characters alone");
  }
  if (arguments.Has("vocabulary")) {
    const double vocabulary = arguments.Number("vocabulary");
    const double loss = answer.Add("initial_loss", std::log(vocabulary), Unit::kNumber,
                                   "ln V, in nats", "uniform guess");
    if (answer.headline.empty()) {
      answer.headline =
          "An untrained model starts near a loss of " + FormatQuantity(loss, Unit::kNumber) + ".";
    }
  }
  if (arguments.Has("loss")) {
    const double loss = arguments.Number("loss");
    const double perplexity =
        answer.Add("perplexity", std::exp(loss), Unit::kNumber, "e^loss, loss in nats per token");
    const double bits =
        answer.Add("bits_per_token", loss / std::log(2.0), Unit::kNumber, "loss / ln 2");
    if (per_token > 0) {
      answer.Add("bits_per_character", bits / per_token, Unit::kNumber,
                 "bits per token / characters per token");
    }
    if (answer.headline.empty()) {
      answer.headline = "The perplexity is " + FormatQuantity(perplexity, Unit::kNumber) + ".";
    }
  }
  AddFirstTokenParts(arguments, answer);
  if (answer.terms.empty()) {
    return Refuse("characters", "is required unless vocabulary, loss or a latency is given",
                  "such as characters=4000");
  }
  if (per_token > 0) {
    answer.notes.push_back(
        "Characters per token depend on the tokenizer and the language: English has about 4, code "
        "about 3.");
  }
  return answer;
}

Topic TextTopic() {
  Topic topic;
  topic.name = "text";
  topic.summary = "Relate characters, tokens, loss, perplexity and the first token's parts";
  topic.about =
      "Estimates the tokens of a text, the loss of an untrained model (ln V), the perplexity of "
      "a loss, and the time to first token from its parts.";
  topic.example = "--characters 4000 --vocabulary 50257";
  topic.inputs = {
      Input::Of("characters", Unit::kCount).Help("characters of the text"),
      Input::Of("tokens", Unit::kCount).Help("tokens of the same text"),
      Input::Of("characters_per_token", Unit::kNumber)
          .Default("4")
          .Help("used if tokens are not given"),
      Input::Of("vocabulary", Unit::kCount).Help("size of the vocabulary"),
      Input::Of("loss", Unit::kNumber)
          .AtLeast(0)
          .AtMost(kLargestLoss)
          .Help("loss in nats per token"),
      Input::Of("network", Unit::kSeconds).AtLeast(0).Help("network's part of the first token"),
      Input::Of("queue", Unit::kSeconds).AtLeast(0).Help("queue's and server's part of it"),
      Input::Of("prefill", Unit::kSeconds).AtLeast(0).Help("prefill's part of it")};
  topic.compute = TextAnswer;
  return topic;
}

}  // namespace

std::vector<Topic> NumberTopics() { return {QuantiseTopic(), TextTopic()}; }

}  // namespace assay::predict
