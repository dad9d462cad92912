// Topics about training and communication: properties, refusals, and inputs that no formula
// expects.
#include "predict/training.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "predict/topic.h"

namespace assay::predict {
namespace {

using Inputs = std::map<std::string, std::string>;

constexpr const char* kSubjects[][2] = {
    {"predict", "train"},         {"plan", "train"},          {"predict", "mfu"},
    {"predict", "flops"},         {"predict", "activations"}, {"predict", "training-memory"},
    {"predict", "chinchilla"},    {"predict", "loss"},        {"predict", "learning-rate"},
    {"predict", "pipeline"},      {"predict", "allreduce"},   {"predict", "collective"},
    {"predict", "data-parallel"}, {"predict", "experts"},     {"predict", "tensor-parallel"}};

Result<Answer> AskTraining(const char* command, const std::string& name, const Inputs& inputs) {
  const Topic* const topic = FindTopic(command, name);
  if (topic == nullptr) return NotFound("no topic " + name);
  ASSAY_ASSIGN_OR_RETURN(const Arguments arguments, Read(*topic, inputs, SheetsOnly()));
  return Evaluate(*topic, arguments);
}

double TrainingTerm(const Result<Answer>& answer, const std::string& name) {
  EXPECT_TRUE(answer.ok()) << answer.status();
  if (!answer.ok()) return std::nan("");
  const Term* const term = answer->Find(name);
  EXPECT_NE(term, nullptr) << name;
  return term == nullptr ? std::nan("") : term->value;
}

std::string RefusedField(const Result<Answer>& answer) {
  if (answer.ok()) return "not refused";
  EXPECT_EQ(answer.status().code(), Code::kInvalidArgument) << answer.status();
  return answer.status().violations().empty() ? "" : answer.status().violations()[0].field;
}

// Reads "--gpu 'H100 SXM' --gpus 8 --sequence-parallel".
Inputs InputsOf(const std::string& example) {
  Inputs inputs;
  std::string name;
  std::string word;
  bool quoted = false;
  for (const char character : example + " ") {
    if (character == '\'') {
      quoted = !quoted;
    } else if (character != ' ' || quoted) {
      word += character == '-' && word.starts_with("--") && word.size() > 2 ? '_' : character;
    } else if (word.starts_with("--")) {
      name = word.substr(2);
      inputs[name] = "true";
      word.clear();
    } else if (!word.empty()) {
      inputs[name] = word;
      word.clear();
    }
  }
  return inputs;
}

TEST(TrainingTopicsTest, ExamplesAreAnswered) {
  for (const auto& [command, name] : kSubjects) {
    const Topic* const topic = FindTopic(command, name);
    ASSERT_NE(topic, nullptr) << name;
    const auto answer = AskTraining(command, name, InputsOf(topic->example));
    ASSERT_TRUE(answer.ok()) << name << ": " << answer.status();
    EXPECT_FALSE(answer->headline.empty()) << name;
    EXPECT_FALSE(answer->notes.empty()) << name;
    if (!answer->dominant.empty()) {
      EXPECT_NE(answer->Find(answer->dominant), nullptr) << name << ": " << answer->dominant;
    }
  }
}

// Puts values at the edges of what parses into each input, alone.
TEST(TrainingTopicsTest, ExtremeInputsAreRefusedOrGiveFiniteTerms) {
  for (const auto& [command, name] : kSubjects) {
    const Topic* const topic = FindTopic(command, name);
    ASSERT_NE(topic, nullptr) << name;
    for (const Input& input : topic->inputs) {
      if (input.kind != Input::Kind::kQuantity) continue;
      for (const std::string number :
           {"0", "-1", "nan", "inf", "1e-300", "1e-9", "0.5", "1", "3", "1e9", "1e18", "1e30"}) {
        for (const std::string suffix :
             {"", "B", "s", "B/s", "FLOP/s", "W", " USD", "tok/s", "%"}) {
          Inputs inputs = InputsOf(topic->example);
          inputs[input.name] = number + suffix;
          const auto answer = AskTraining(command, name, inputs);
          const std::string where = std::string(name) + " " + input.name + "=" + number + suffix;
          if (!answer.ok()) {
            EXPECT_EQ(answer.status().code(), Code::kInvalidArgument) << where;
            EXPECT_FALSE(answer.status().violations().empty()) << where;
            continue;
          }
          for (const Term& term : answer->terms) {
            EXPECT_TRUE(std::isfinite(term.value)) << where << ": " << term.name;
            EXPECT_TRUE(std::isfinite(term.low) && std::isfinite(term.high)) << where;
          }
        }
      }
    }
  }
}

const Inputs kTraining = {
    {"model", "llama-3-8b"}, {"gpu", "H100 SXM"},       {"gpus", "8"}, {"zero", "3"}, {"tp", "2"},
    {"sequence", "8192"},    {"global_batch", "262144"}};

Inputs WithTraining(const Inputs& changes) {
  Inputs inputs = kTraining;
  for (const auto& [name, value] : changes) inputs[name] = value;
  return inputs;
}

TEST(TrainTopicTest, StepIsTheSumOfItsParts) {
  const auto answer = AskTraining(
      "predict", "train", WithTraining({{"gpus", "64"}, {"pp", "4"}, {"dp", "8"}, {"zero", "1"}}));
  double sum = 0;
  for (const char* part :
       {"compute", "elementwise", "tensor_parallel", "pipeline", "bubble", "exposed", "update"}) {
    sum += TrainingTerm(answer, part);
  }
  EXPECT_NEAR(TrainingTerm(answer, "step"), sum, 1e-12 * sum);
  EXPECT_LT(TrainingTerm(answer, "mfu"), 1);
  EXPECT_GT(TrainingTerm(answer, "mfu_full"), TrainingTerm(answer, "mfu"));
}

TEST(TrainTopicTest, MemoryIsTheSumOfItsParts) {
  const auto answer = AskTraining("predict", "train", kTraining);
  double sum = 0;
  for (const char* part :
       {"weights", "gradients", "optimizer", "gathered", "activations", "logits", "reserve"}) {
    sum += TrainingTerm(answer, part);
  }
  EXPECT_DOUBLE_EQ(TrainingTerm(answer, "memory"), sum);
}

TEST(TrainTopicTest, GivenMfuReplacesTheStepTime) {
  const auto answer = AskTraining("predict", "train", WithTraining({{"mfu", "0.4"}}));
  EXPECT_DOUBLE_EQ(TrainingTerm(answer, "mfu"), 0.4);
  EXPECT_DOUBLE_EQ(TrainingTerm(answer, "step"),
                   TrainingTerm(answer, "flops") / (8 * TrainingTerm(answer, "peak") * 0.4));
}

TEST(TrainTopicTest, MoreBandwidthNeverSlowsTheStep) {
  const auto slow = AskTraining("predict", "train", WithTraining({{"link", "50GB/s"}}));
  const auto fast = AskTraining("predict", "train", WithTraining({{"link", "450GB/s"}}));
  EXPECT_GT(TrainingTerm(slow, "step"), TrainingTerm(fast, "step"));
}

TEST(TrainTopicTest, OverlapHidesDataParallelCommunicationOnly) {
  const auto bare = AskTraining("predict", "train", kTraining);
  const auto hidden = AskTraining("predict", "train", WithTraining({{"overlap", "1"}}));
  EXPECT_DOUBLE_EQ(TrainingTerm(hidden, "exposed"), 0);
  EXPECT_DOUBLE_EQ(TrainingTerm(hidden, "data_parallel"), TrainingTerm(bare, "data_parallel"));
  EXPECT_DOUBLE_EQ(TrainingTerm(hidden, "tensor_parallel"), TrainingTerm(bare, "tensor_parallel"));
}

TEST(TrainTopicTest, WhatTheRefusalSaysFitsDoesFit) {
  const Inputs large = WithTraining({{"zero", "0"}});
  const auto refused = AskTraining("predict", "train", large);
  EXPECT_EQ(RefusedField(refused), "gpu");
  EXPECT_NE(refused.status().hint().find("--zero"), std::string::npos) << refused.status();
  const size_t at = refused.status().hint().find("--zero ") + 7;
  EXPECT_TRUE(AskTraining("predict", "train",
                          WithTraining({{"zero", refused.status().hint().substr(at, 1)}}))
                  .ok());
}

TEST(TrainTopicTest, RefusesWhatDoesNotDivide) {
  EXPECT_EQ(RefusedField(AskTraining("predict", "train", WithTraining({{"dp", "3"}}))), "gpus");
  EXPECT_EQ(RefusedField(AskTraining("predict", "train", WithTraining({{"gpus", "7"}}))), "gpus");
  EXPECT_EQ(
      RefusedField(AskTraining("predict", "train", WithTraining({{"tp", "3"}, {"gpus", "3"}}))),
      "tp");
  EXPECT_EQ(
      RefusedField(AskTraining("predict", "train", WithTraining({{"pp", "3"}, {"gpus", "6"}}))),
      "pp");
  EXPECT_EQ(RefusedField(AskTraining("predict", "train", WithTraining({{"sequence", "8193"}}))),
            "sequence");
  EXPECT_EQ(RefusedField(AskTraining("predict", "train", WithTraining({{"global_batch", "8192"}}))),
            "global_batch");
}

TEST(TrainTopicTest, RefusesUnknownLink) {
  const Inputs inputs = {{"model", "gpt2"},
                         {"gpu", "TPU v5e"},
                         {"gpus", "2"},
                         {"sequence", "1024"},
                         {"global_batch", "2048"}};
  EXPECT_EQ(RefusedField(AskTraining("predict", "train", inputs)), "link");
}

// Eight data-parallel ranks of a node share its eight network adapters; with tp 8 each rank of a
// group has a node, and an adapter, to itself.
TEST(TrainTopicTest, DataParallelRanksOfANodeShareItsNetwork) {
  Inputs inputs = {{"model", "llama-3.2-1b"}, {"gpu", "H200"},       {"gpus", "64"},
                   {"sequence", "4096"},      {"network", "50GB/s"}, {"global_batch", "262144"}};
  const auto wide = AskTraining("predict", "train", inputs);
  EXPECT_NEAR(TrainingTerm(wide, "sent_data_parallel") / TrainingTerm(wide, "data_parallel"), 400e9,
              1);
  inputs["tp"] = "8";
  const auto narrow = AskTraining("predict", "train", inputs);
  EXPECT_NEAR(TrainingTerm(narrow, "sent_data_parallel") / TrainingTerm(narrow, "data_parallel"),
              50e9, 1);
}

TEST(TrainPlanTest, DeadlineGivesTheFewestGpusThatMeetIt) {
  const Inputs inputs = {
      {"parameters", "8B"}, {"tokens", "15T"}, {"gpu", "H100 SXM"}, {"deadline", "30d"}};
  const auto answer = AskTraining("plan", "train", inputs);
  const double gpus = TrainingTerm(answer, "gpus");
  EXPECT_LE(TrainingTerm(answer, "days"), 30);
  EXPECT_GT(TrainingTerm(answer, "days") * gpus / (gpus - 1), 30);
  Inputs fewer = inputs;
  fewer["gpus"] = std::to_string(static_cast<int>(gpus) - 1);
  EXPECT_EQ(RefusedField(AskTraining("plan", "train", fewer)), "deadline");
}

TEST(TrainPlanTest, CostIsGpuHoursTimesPrice) {
  const auto answer = AskTraining("plan", "train",
                                  {{"model", "llama-3-8b"},
                                   {"tokens", "15T"},
                                   {"gpu", "H100 SXM"},
                                   {"gpus", "512"},
                                   {"price", "$2.00"}});
  EXPECT_DOUBLE_EQ(TrainingTerm(answer, "cost"), 2 * TrainingTerm(answer, "gpu_hours"));
  EXPECT_EQ(answer->currency, "USD");
}

TEST(TrainPlanTest, RefusesWithoutGpusOrDeadline) {
  EXPECT_EQ(RefusedField(AskTraining(
                "plan", "train", {{"parameters", "8B"}, {"tokens", "1T"}, {"gpu", "H100 SXM"}})),
            "gpus");
}

TEST(UtilisationTest, ScalesWithThePeak) {
  const Inputs inputs = {
      {"model", "llama-3-8b"}, {"sequence", "8192"}, {"tokens_per_second", "9000"}};
  Inputs given = inputs;
  given["peak"] = "989TFLOP/s";
  Inputs sheet = inputs;
  sheet["gpu"] = "H100 SXM";
  EXPECT_DOUBLE_EQ(TrainingTerm(AskTraining("predict", "mfu", given), "mfu"),
                   TrainingTerm(AskTraining("predict", "mfu", sheet), "mfu"));
  EXPECT_EQ(RefusedField(AskTraining("predict", "mfu", inputs)), "peak");
}

TEST(UtilisationTest, RecomputedFlopsCountOnlyInHfu) {
  const Inputs inputs = {{"model", "llama-3-8b"},
                         {"sequence", "8192"},
                         {"tokens_per_second", "9000"},
                         {"gpu", "H100 SXM"},
                         {"recompute", "full"}};
  const auto answer = AskTraining("predict", "mfu", inputs);
  const double ratio = TrainingTerm(answer, "hfu") / TrainingTerm(answer, "mfu");
  EXPECT_GT(ratio, 1.25);
  EXPECT_LT(ratio, 4.0 / 3);
}

TEST(TrainingFormulasTest, LeastMicroBatchesIsStrict) {
  for (const double stages : {2.0, 3.0, 4.0, 8.0, 16.0, 64.0}) {
    for (const double share : {0.01, 0.05, 0.1, 0.25, 0.5}) {
      for (const double chunks : {1.0, 2.0, 4.0}) {
        const double least = LeastMicroBatches(stages, share, chunks);
        EXPECT_LT(BubbleShare(stages, least, chunks), share * (1 - 1e-9));
        if (least > 1) EXPECT_GE(BubbleShare(stages, least - 1, chunks), share * (1 - 1e-9));
      }
    }
  }
}

TEST(TrainingFormulasTest, ZeroStagesOnlyDivide) {
  double before = 0;
  for (const int zero : {3, 2, 1, 0}) {
    const TrainingState state = TrainingStateOf(7e9, {2, 2, 16, zero});
    EXPECT_GT(state.Total(), before);
    before = state.Total();
  }
  EXPECT_DOUBLE_EQ(before, 16 * 7e9 / 4);
}

// The 34 bytes of a GPT block hold for SwiGLU with f = 3.5 d and 8 of 32 KV heads too.
TEST(TrainingFormulasTest, LlamaBlockKeepsAsMuchAsAGptBlock) {
  const auto model = FindModel("llama-3-8b");
  ASSERT_TRUE(model.ok());
  ActivationPlan plan;
  plan.sequence = 8192;
  plan.flash = true;
  EXPECT_DOUBLE_EQ(ActivationBytesPerLayer(ActivationsOf(**model), plan),
                   ActivationBytesPerLayer(GptActivations(4096, 32), plan));
}

}  // namespace
}  // namespace assay::predict
