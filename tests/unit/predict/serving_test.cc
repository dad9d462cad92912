// Refusals and properties of the topics about serving: decode, prefill, kv, fits, decode-rule,
// serving-price and plan serve.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "predict/step.h"
#include "predict/topic.h"

namespace assay::predict {
namespace {

using Inputs = std::map<std::string, std::string>;

Result<Answer> AskServing(const std::string& command, const std::string& name,
                          const Inputs& inputs) {
  const Topic* const topic = FindTopic(command, name);
  if (topic == nullptr) return NotFound("no topic " + name);
  ASSAY_ASSIGN_OR_RETURN(const Arguments arguments, Read(*topic, inputs, SheetsOnly()));
  return Evaluate(*topic, arguments);
}

Result<Answer> AskPredict(const std::string& name, const Inputs& inputs) {
  return AskServing("predict", name, inputs);
}

double TermOf(const Result<Answer>& answer, const std::string& name) {
  EXPECT_TRUE(answer.ok()) << answer.status();
  if (!answer.ok()) return std::nan("");
  const Term* const term = answer->Find(name);
  EXPECT_NE(term, nullptr) << name;
  return term == nullptr ? std::nan("") : term->value;
}

void ExpectRefused(const Result<Answer>& answer, const std::string& field) {
  ASSERT_FALSE(answer.ok()) << field;
  EXPECT_EQ(answer.status().code(), Code::kInvalidArgument) << answer.status();
  ASSERT_FALSE(answer.status().violations().empty()) << answer.status();
  EXPECT_EQ(answer.status().violations()[0].field, field) << answer.status();
}

Hardware Sheet(const std::string& name) { return FromSheet(**FindSheet(name)); }

const ModelShape& Shape(const std::string& name) { return **FindModel(name); }

struct Question {
  const char* command;
  const char* topic;
  Inputs inputs;
};

// One question of each topic, with every optional number given.
std::vector<Question> Questions() {
  return {
      {"predict",
       "decode",
       {{"model", "llama-3-8b"},
        {"gpu", "H200"},
        {"batch", "8"},
        {"context", "4096"},
        {"tp", "2"},
        {"peak", "989TFLOP/s"},
        {"bandwidth", "4.8TB/s"},
        {"link", "450GB/s"},
        {"memory", "141GB"}}},
      {"predict",
       "decode",
       {{"model", "qwen3-30b-a3b"}, {"gpu", "H200"}, {"batch", "8"}, {"context", "4096"}}},
      {"predict",
       "prefill",
       {{"model", "gemma-3-12b"},
        {"gpu", "H200"},
        {"tokens", "4096"},
        {"chunk", "512"},
        {"tp", "2"}}},
      {"predict",
       "kv",
       {{"layers", "40"},
        {"kv_heads", "40"},
        {"head_dim", "128"},
        {"batch", "8"},
        {"context", "100"},
        {"tp", "2"},
        {"page", "16"},
        {"pool", "10GB"},
        {"reserved", "2048"}}},
      {"predict",
       "fits",
       {{"model", "mixtral-8x7b"},
        {"gpu", "H200"},
        {"batch", "8"},
        {"context", "4096"},
        {"chunk", "512"},
        {"tp", "2"},
        {"pp", "2"},
        {"memory", "80GB"}}},
      {"predict",
       "decode-rule",
       {{"parameters", "30B"},
        {"active", "3B"},
        {"kv_per_token", "100kB"},
        {"batch", "4"},
        {"context", "8192"},
        {"gpus", "16"},
        {"bandwidth", "810GB/s"},
        {"peak", "197TFLOP/s"},
        {"memory", "16GB"}}},
      {"predict",
       "serving-price",
       {{"price", "2 USD"},
        {"gpus", "8"},
        {"output_rate", "2400"},
        {"input_rate", "20000"},
        {"utilisation", "0.7"},
        {"target", "0.5 USD"},
        {"user_rate", "40"}}},
      {"plan",
       "serve",
       {{"model", "llama-3-8b"},
        {"gpu", "H200,L40S"},
        {"input_tokens", "1024"},
        {"output_tokens", "256"},
        {"slo_ttft", "500ms"},
        {"slo_tpot", "30ms"},
        {"rate", "20/s"},
        {"price", "2 USD"},
        {"tp", "1..8"},
        {"utilisation", "0.8"},
        {"efficiency", "0.9"},
        {"max_batch", "256"}}},
  };
}

// Returns "-1", "1e18" and so on with the unit that the value had.
std::string Replaced(const std::string& value, const std::string& number) {
  const size_t unit = value.find_first_not_of("0123456789.");
  return unit == std::string::npos ? number : number + value.substr(unit);
}

TEST(ServingTest, NoNumberCrashesOrGivesNoNumber) {
  for (const Question& question : Questions()) {
    ASSERT_TRUE(AskServing(question.command, question.topic, question.inputs).ok())
        << question.topic << ": "
        << AskServing(question.command, question.topic, question.inputs).status();
    for (const auto& [name, value] : question.inputs) {
      if (value.find_first_of("0123456789") != 0) continue;
      for (const char* number :
           {"0", "-1", "nan", "inf", "1e30", "1e18", "9e17", "1e-30", "1e-300", "1.5", ""}) {
        Inputs inputs = question.inputs;
        inputs[name] = Replaced(value, number);
        const Result<Answer> answer = AskServing(question.command, question.topic, inputs);
        const std::string where =
            std::string(question.topic) + " " + name + "=" + Replaced(value, number);
        if (!answer.ok()) {
          EXPECT_EQ(answer.status().code(), Code::kInvalidArgument) << where << answer.status();
          EXPECT_FALSE(answer.status().violations().empty()) << where;
          continue;
        }
        for (const Term& term : answer->terms) {
          EXPECT_TRUE(std::isfinite(term.value)) << where << " " << term.name;
        }
        for (const Grid& grid : answer->grids) {
          for (const auto& row : grid.rows) {
            EXPECT_EQ(row.size(), grid.columns.size()) << where;
            for (const Grid::Cell& cell : row) {
              const double* const cell_number = std::get_if<double>(&cell);
              EXPECT_TRUE(cell_number == nullptr || std::isfinite(*cell_number)) << where;
            }
          }
        }
      }
    }
  }
}

TEST(ServingTest, DominantTermsExist) {
  for (const Question& question : Questions()) {
    const Result<Answer> answer = AskServing(question.command, question.topic, question.inputs);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_FALSE(answer->headline.empty()) << question.topic;
    if (answer->dominant.empty()) continue;
    EXPECT_NE(answer->Find(answer->dominant), nullptr) << question.topic << answer->dominant;
  }
}

TEST(ServingTest, BadInputNamesTheField) {
  const Inputs base = {{"model", "llama-3-8b"}, {"gpu", "H200"}};
  const auto with = [&](const std::string& name, const std::string& value) {
    Inputs inputs = base;
    inputs[name] = value;
    return inputs;
  };
  ExpectRefused(AskPredict("decode", with("tp", "3")), "tp");
  ExpectRefused(AskPredict("decode", with("context", "8193")), "context");
  ExpectRefused(AskPredict("decode", with("model", "llama-9")), "model");
  ExpectRefused(AskPredict("decode", with("gpu", "H900")), "gpu");
  ExpectRefused(AskPredict("decode", with("weights", "int3")), "weights");
  ExpectRefused(AskPredict("decode", with("batch", "0")), "batch");
  ExpectRefused(AskPredict("prefill", with("tokens", "8193")), "tokens");
  ExpectRefused(AskPredict("fits", with("pp", "3")), "pp");
  ExpectRefused(AskPredict("decode", {{"model", "llama-3-8b"}}), "peak");
  ExpectRefused(AskPredict("fits", {{"model", "llama-3-8b"}}), "memory");
  ExpectRefused(AskPredict("kv", {{"layers", "2"}}), "kv_heads");
  ExpectRefused(AskPredict("kv", {}), "model");
  ExpectRefused(AskPredict("kv", {{"model", "llama-3-8b"}, {"layers", "2"}}), "layers");
  ExpectRefused(AskPredict("kv", {{"model", "tiny"}, {"reserved", "8"}}), "reserved");
  ExpectRefused(AskPredict("decode-rule", {{"parameters", "1B"}, {"peak", "1TFLOP/s"}}),
                "bandwidth");
  ExpectRefused(AskPredict("serving-price", {{"price", "2"}, {"output_rate", "1"}}), "price");
  ExpectRefused(AskPredict("serving-price", {{"price", "2 USD"}}), "output_rate");
  ExpectRefused(AskPredict("serving-price",
                           {{"price", "2 USD"}, {"output_rate", "1"}, {"utilisation", "120%"}}),
                "utilisation");
  ExpectRefused(
      AskPredict("serving-price", {{"price", "2 USD"}, {"output_rate", "1"}, {"target", "1 EUR"}}),
      "target");
  // MI300X has a link that the sheet does not state.
  ExpectRefused(AskPredict("decode", {{"model", "llama-3-8b"}, {"gpu", "MI300X"}, {"tp", "2"}}),
                "link");
}

TEST(ServingTest, WhatDoesNotFitNamesTheInputToChange) {
  const Inputs two = {{"model", "llama-3-70b"}, {"gpu", "H100 SXM"}, {"tp", "2"}};
  Inputs inputs = two;
  inputs["batch"] = "200";
  inputs["context"] = "4096";
  ExpectRefused(AskPredict("decode", inputs), "batch");
  inputs = {{"model", "llama-3.1-8b"}, {"gpu", "RTX 4090"}, {"context", "131072"}};
  ExpectRefused(AskPredict("decode", inputs), "context");
  inputs = {{"model", "llama-3.1-405b"}, {"gpu", "RTX 4090"}};
  ExpectRefused(AskPredict("decode", inputs), "tp");
}

// A refusal's advice must hold: the largest batch and the longest context fit, and one more does
// not.
TEST(ServingTest, LargestBatchAndContextAreTight) {
  const Inputs base = {{"model", "llama-3-70b"}, {"gpu", "H200"}, {"tp", "2"}};
  Inputs inputs = base;
  inputs["batch"] = "16";
  inputs["context"] = "4096";
  const Result<Answer> answer = AskPredict("fits", inputs);
  for (const auto& [term, input] :
       {std::pair("max_batch", "batch"), std::pair("max_context", "context")}) {
    const double most = TermOf(answer, term);
    for (const int more : {0, 1}) {
      Inputs changed = inputs;
      changed[input] = std::to_string(static_cast<int64_t>(most) + more);
      const bool beyond_model = more == 1 && most >= 8192 && std::string(input) == "context";
      if (beyond_model) continue;
      EXPECT_EQ(TermOf(AskPredict("fits", changed), "fits"), 1 - more) << input << " +" << more;
      EXPECT_EQ(AskPredict("decode", changed).ok(), more == 0) << input << " +" << more;
    }
  }
}

TEST(ServingTest, MeasuredDecodeIsNeverFasterThanSheets) {
  // published_workloads.csv: gpt-fast 32971d31 on A100-SXM4-80GB, batch 1.
  struct Measured {
    const char* model;
    const char* weights;
    int tp;
    double tokens_per_second;
  };
  const Measured kMeasured[] = {
      {"llama-3.1-8b", "bf16", 1, 93.89}, {"llama-3.1-8b", "int8", 1, 137.6},
      {"llama-2-7b", "int4", 1, 196.8},   {"llama-3.1-8b", "bf16", 1, 93.8},
      {"llama-3.1-8b", "bf16", 2, 149.1}, {"llama-3.1-8b", "bf16", 4, 217.2},
      {"llama-3.1-8b", "bf16", 8, 276.0}, {"llama-3.1-70b", "bf16", 2, 16.0},
      {"llama-3.1-70b", "bf16", 4, 37.5}, {"llama-2-70b", "bf16", 2, 21.3},
      {"llama-3.1-70b", "bf16", 8, 58.8}, {"llama-2-70b", "bf16", 4, 38.0},
      {"llama-2-70b", "bf16", 8, 62.5}};
  for (const Measured& row : kMeasured) {
    const double predicted = TermOf(AskPredict("decode", {{"model", row.model},
                                                          {"gpu", "A100-SXM4-80GB"},
                                                          {"weights", row.weights},
                                                          {"tp", std::to_string(row.tp)},
                                                          {"context", "205"}}),
                                    "tokens_per_second");
    EXPECT_GE(predicted, row.tokens_per_second) << row.model << " " << row.weights << " " << row.tp;
    EXPECT_LE(predicted, row.tokens_per_second * 2.5)
        << row.model << " " << row.weights << " " << row.tp;
  }
}

TEST(DecodeStepTest, IsTheSumOfItsParts) {
  const Result<StepTime> step =
      DecodeStep(Sheet("H200"), Shape("llama-3-70b"), {4, "bf16", "bf16", kGraphLaunch}, 32, 4096);
  ASSERT_TRUE(step.ok()) << step.status();
  double busy = 0;
  for (const StepPhase& phase : step->phases) {
    busy += phase.seconds;
    EXPECT_GE(phase.seconds, phase.compute_seconds) << phase.name;
    EXPECT_GE(phase.seconds * (1 + 1e-9), phase.memory_seconds) << phase.name;
  }
  EXPECT_NEAR(busy, step->busy_seconds, 1e-12);
  EXPECT_NEAR(step->seconds, busy + step->launch_seconds + step->communication_seconds, 1e-12);
  EXPECT_EQ(step->nodes, 12 * 80 + 3);
  EXPECT_NEAR(step->weight_bytes,
              2.0 * static_cast<double>(MultiplyingParameters(Shape("llama-3-70b"))) / 4, 1);
  // S is the whole array, B d b.
  EXPECT_NEAR(step->all_reduce.sent_bytes, 2.0 * 3 / 4 * 32 * 8192 * 2, 1e-6);
}

TEST(DecodeStepTest, GrowsWithBatchContextAndTokens) {
  const Hardware gpu = Sheet("H100 SXM");
  for (const char* model : {"llama-3-8b", "gpt2-xl", "mixtral-8x7b", "gemma-3-12b"}) {
    double last = 0;
    for (double batch = 1; batch <= 1024; batch *= 4) {
      const Result<StepTime> step = DecodeStep(gpu, Shape(model), {}, batch, 1024);
      ASSERT_TRUE(step.ok()) << step.status();
      EXPECT_GT(step->seconds, last) << model << " " << batch;
      last = step->seconds;
    }
    const double one = DecodeStep(gpu, Shape(model), {}, 8, 512)->seconds;
    EXPECT_GT(DecodeStep(gpu, Shape(model), {}, 8, 1024)->seconds, one) << model;
    const double verify = DecodeStep(gpu, Shape(model), {}, 8, 512, 5)->seconds;
    EXPECT_GE(verify * (1 + 1e-9), one) << model;
    EXPECT_LT(verify, 5 * one) << model;
  }
}

TEST(DecodeStepTest, SlowerBandwidthSlowsTheStepAsMuch) {
  Hardware gpu = Sheet("H200");
  Serving serving;
  serving.launch = 0;
  const double healthy = DecodeStep(gpu, Shape("llama-3-8b"), serving, 1, 1024)->seconds;
  gpu.memory_bandwidth->value *= 0.8;
  const double slow = DecodeStep(gpu, Shape("llama-3-8b"), serving, 1, 1024)->seconds;
  EXPECT_NEAR(slow / healthy, 1 / 0.8, 1e-9);
}

TEST(DecodeStepTest, UsesTheEfficiencyOfNearMeasuredProducts) {
  Hardware gpu = Sheet("H200");
  // Half of the roofline, near every product of the blocks at batch 1 and at the head.
  for (const auto& [n, k] :
       {std::pair(6144.0, 4096.0), std::pair(4096.0, 4096.0), std::pair(28672.0, 4096.0),
        std::pair(4096.0, 14336.0), std::pair(128256.0, 4096.0)}) {
    const double seconds = 2 * 2 * (n * k + n + k) / *gpu.sheet_bandwidth;
    const double rate = 2 * n * k / seconds;
    gpu.products.push_back({1, n, k, "bf16", {rate, rate, rate, "measured"}});
  }
  // One that reaches the roofline, far from the others: there is no fixed cost.
  const double peak = gpu.sheet_peaks.at("bf16");
  gpu.products.push_back({8192, 8192, 8192, "bf16", {peak, peak, peak, "measured"}});
  const Result<StepTime> step = DecodeStep(gpu, Shape("llama-3-8b"), {}, 1, 1);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_NEAR(step->efficiency, 0.5, 0.001);
  EXPECT_NEAR(step->weight_seconds, 2 * step->weight_bytes / *gpu.sheet_bandwidth,
              step->weight_seconds * 0.001);
}

TEST(DecodeStepTest, MixtureReadsChosenExpertsOnly) {
  const ModelShape& shape = Shape("mixtral-8x7b");
  const Hardware gpu = Sheet("H200");
  const double one = DecodeStep(gpu, shape, {}, 1, 1)->weight_bytes;
  EXPECT_NEAR(one, 2 * ReadParameters(shape, 1), one * 1e-9);
  const double many = DecodeStep(gpu, shape, {}, 1000, 1)->weight_bytes;
  EXPECT_NEAR(many, 2.0 * static_cast<double>(MultiplyingParameters(shape, false)), many * 1e-6);
  const double flops = DecodeStep(gpu, shape, {}, 7, 1)->flops;
  EXPECT_NEAR(
      flops,
      7 * (2.0 * static_cast<double>(MultiplyingParameters(shape)) + AttentionFlops(shape, 1)),
      flops * 1e-9);
}

TEST(PrefillStepTest, ChunksDoTheSameArithmetic) {
  const Hardware gpu = Sheet("H200");
  const ModelShape& shape = Shape("llama-3-8b");
  const Result<StepTime> whole = PrefillStep(gpu, shape, {}, 8192);
  const Result<StepTime> chunked = PrefillStep(gpu, shape, {}, 8192, 1000);
  ASSERT_TRUE(whole.ok() && chunked.ok());
  const double head = 2.0 * static_cast<double>(shape.vocab * shape.d);
  // Each chunk multiplies its last token by the head.
  EXPECT_NEAR(chunked->flops - whole->flops, 8 * head, whole->flops * 1e-9);
  EXPECT_GT(chunked->weight_bytes, 8 * whole->weight_bytes);
  EXPECT_GT(chunked->seconds, whole->seconds);
  const double products = static_cast<double>(MultiplyingParameters(shape)) -
                          static_cast<double>(shape.vocab * shape.d);
  EXPECT_NEAR(whole->flops, 2 * products * 8192 + PromptAttentionFlops(shape, 8192) + head,
              whole->flops * 1e-9);
}

TEST(WithLinkTest, AssumesPciExpressForCardsOnly) {
  EXPECT_NE(WithLink(Sheet("RTX 4090"), 2).link_bandwidth->source.find("PCI Express 4.0"),
            std::string::npos);
  EXPECT_NEAR(WithLink(Sheet("L40S"), 2).link_bandwidth->value, 31.5e9, 0.1e9);
  // The bridge joins two cards.
  EXPECT_NEAR(WithLink(Sheet("H100 PCIe"), 2).link_bandwidth->value, 300e9, 1);
  EXPECT_NEAR(WithLink(Sheet("H100 PCIe"), 4).link_bandwidth->value, 63e9, 0.1e9);
  EXPECT_NEAR(WithLink(Sheet("H100 SXM"), 8).link_bandwidth->value, 450e9, 1);
  EXPECT_FALSE(WithLink(Sheet("MI300X"), 2).link_bandwidth);
  Hardware given = Sheet("H100 PCIe");
  given.link_bandwidth = Figure{1e9, 1e9, 1e9, "given"};
  EXPECT_EQ(WithLink(given, 4).link_bandwidth->value, 1e9);
}

const Inputs kPlan = {{"model", "llama-3-70b"}, {"gpu", "H200 SXM,H100 SXM,RTX 4090"},
                      {"input_tokens", "1024"}, {"output_tokens", "256"},
                      {"slo_ttft", "500ms"},    {"slo_tpot", "30ms"},
                      {"rate", "20/s"},         {"price", "$2.50"}};

TEST(ServePlanTest, ChoiceMeetsTheGoalsAndTheRate) {
  const Result<Answer> answer = AskServing("plan", "serve", kPlan);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_LE(TermOf(answer, "tpot"), 0.030);
  EXPECT_LE(TermOf(answer, "ttft"), 0.500);
  EXPECT_LE(TermOf(answer, "users"), TermOf(answer, "memory_batch"));
  EXPECT_GE(TermOf(answer, "replicas") * TermOf(answer, "requests_per_second") * 0.8, 20);
  EXPECT_EQ(TermOf(answer, "gpus"), TermOf(answer, "replicas") * TermOf(answer, "tp"));
  EXPECT_NEAR(TermOf(answer, "per_hour"), TermOf(answer, "gpus") * 2.5, 1e-9);
  EXPECT_NEAR(TermOf(answer, "per_million_output"),
              TermOf(answer, "per_hour") / (20 * 256 * 3600) * 1e6, 1e-9);
  // Each request takes prefill + output x step / batch of a replica's time.
  EXPECT_NEAR(1 / TermOf(answer, "requests_per_second"),
              TermOf(answer, "prefill") + 256 * TermOf(answer, "step") / TermOf(answer, "users"),
              1e-9);
  EXPECT_EQ(answer->currency, "USD");
}

TEST(ServePlanTest, RowsAreSortedByCostAndFailuresSayWhy) {
  const Result<Answer> answer = AskServing("plan", "serve", kPlan);
  ASSERT_TRUE(answer.ok()) << answer.status();
  const Grid& grid = answer->grids.at(0);
  size_t cost = 0;
  for (size_t i = 0; i < grid.columns.size(); ++i) {
    if (grid.columns[i].name == "per_million_output") cost = i;
  }
  ASSERT_GT(cost, 0U);
  double last = 0;
  bool failed = false;
  for (const auto& row : grid.rows) {
    const auto& reason = std::get<std::string>(row.back());
    EXPECT_FALSE(reason.empty());
    const double* const value = std::get_if<double>(&row[cost]);
    if (value == nullptr) {
      failed = true;
      EXPECT_EQ(reason.substr(0, 5), "fails");
      continue;
    }
    EXPECT_FALSE(failed) << "a choice after a failure";
    EXPECT_GE(*value, last);
    last = *value;
  }
}

TEST(ServePlanTest, EachGpuHasItsPrice) {
  Inputs inputs = {{"model", "llama-3-8b"},
                   {"gpu", "H200 SXM,L40S"},
                   {"input_tokens", "512"},
                   {"output_tokens", "128"},
                   {"price", "9 EUR,0.1 EUR"}};
  const Result<Answer> answer = AskServing("plan", "serve", inputs);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->currency, "EUR");
  EXPECT_EQ(std::get<std::string>(answer->grids[0].rows[0][0]), "L40S");
  EXPECT_NEAR(TermOf(answer, "per_hour"), 0.1 * TermOf(answer, "tp"), 1e-9);
  inputs["price"] = "9 EUR,0.1 EUR,1 EUR";
  ExpectRefused(AskServing("plan", "serve", inputs), "price");
  inputs["price"] = "9 EUR,1 USD";
  ExpectRefused(AskServing("plan", "serve", inputs), "price");
}

TEST(ServePlanTest, AnyGpuListsTheBestChoiceOfEach) {
  Inputs inputs = kPlan;
  inputs["gpu"] = "any";
  const Result<Answer> answer = AskServing("plan", "serve", inputs);
  ASSERT_TRUE(answer.ok()) << answer.status();
  std::set<std::string> names;
  for (const auto& row : answer->grids[0].rows) {
    EXPECT_TRUE(names.insert(std::get<std::string>(row[0])).second);
    EXPECT_TRUE(std::holds_alternative<double>(row[2]));
  }
  EXPECT_GT(names.size(), 5U);
}

TEST(ServePlanTest, GoalsThatNothingMeetsAreRefused) {
  Inputs inputs = kPlan;
  inputs["slo_tpot"] = "1ms";
  ExpectRefused(AskServing("plan", "serve", inputs), "slo_tpot");
  inputs = kPlan;
  inputs["slo_ttft"] = "1ms";
  ExpectRefused(AskServing("plan", "serve", inputs), "slo_ttft");
  inputs = kPlan;
  inputs["gpu"] = "L4";
  inputs["model"] = "llama-3.1-405b";
  ExpectRefused(AskServing("plan", "serve", inputs), "gpu");
  inputs = kPlan;
  inputs["tp"] = "3";
  ExpectRefused(AskServing("plan", "serve", inputs), "tp");
  inputs = kPlan;
  inputs["input_tokens"] = "8192";
  ExpectRefused(AskServing("plan", "serve", inputs), "input_tokens");
  inputs["input_tokens"] = "8000";
  ExpectRefused(AskServing("plan", "serve", inputs), "output_tokens");
  inputs = kPlan;
  inputs["efficiency"] = "1.2";
  ExpectRefused(AskServing("plan", "serve", inputs), "efficiency");
}

TEST(ServePlanTest, LowerEfficiencyServesFewer) {
  Inputs inputs = kPlan;
  inputs["gpu"] = "H200 SXM";
  inputs["tp"] = "4";
  const double all = TermOf(AskServing("plan", "serve", inputs), "users");
  inputs["efficiency"] = "0.7";
  EXPECT_LT(TermOf(AskServing("plan", "serve", inputs), "users"), all);
}

}  // namespace
}  // namespace assay::predict
