#include "predict/speculation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "predict/topic.h"

namespace assay::predict {
namespace {

using Inputs = std::map<std::string, std::string>;

Result<Answer> Speculate(const Inputs& inputs) {
  const Topic& topic = *FindTopic("predict", "speculate");
  ASSAY_ASSIGN_OR_RETURN(const Arguments arguments, Read(topic, inputs, SheetsOnly()));
  return Evaluate(topic, arguments);
}

double SpeculationTerm(const Result<Answer>& answer, const std::string& name) {
  EXPECT_TRUE(answer.ok()) << answer.status();
  if (!answer.ok()) return std::nan("");
  const Term* const term = answer->Find(name);
  EXPECT_NE(term, nullptr) << name;
  return term == nullptr ? std::nan("") : term->value;
}

std::string SpeculationRefusal(const Result<Answer>& answer) {
  if (answer.ok()) return "(answered)";
  EXPECT_EQ(answer.status().code(), Code::kInvalidArgument) << answer.status();
  return answer.status().violations().empty() ? "" : answer.status().violations()[0].field;
}

// Llama 3 8B with a 1B draft on one H200.
Inputs Llama() {
  return {{"target", "llama-3-8b"},
          {"draft", "llama-3.2-1b"},
          {"gpu", "H200 SXM"},
          {"alpha", "0.8"},
          {"k", "4"}};
}

TEST(SpeculationTest, TokensPerPassIsTheClosedForm) {
  for (const double alpha : {0.0, 0.3, 0.9, 0.999}) {
    for (const int k : {1, 4, 32}) {
      EXPECT_NEAR(TokensPerPass(alpha, k), (1 - std::pow(alpha, k + 1)) / (1 - alpha), 1e-9);
    }
  }
  EXPECT_DOUBLE_EQ(TokensPerPass(1, 5), 6);
}

TEST(SpeculationTest, RateAndAlphaAreInverse) {
  for (const double alpha : {0.0, 0.1, 0.6, 0.95, 1.0}) {
    for (const int k : {1, 5, 32}) {
      EXPECT_NEAR(AlphaOfRate(AcceptanceRate(alpha, k), k), alpha, 1e-9) << alpha << " " << k;
    }
  }
}

TEST(SpeculationTest, LeastAlphaReachesTheTokens) {
  EXPECT_FALSE(LeastAlpha(6.01, 5).has_value());
  EXPECT_DOUBLE_EQ(*LeastAlpha(6, 5), 1);
  EXPECT_DOUBLE_EQ(*LeastAlpha(0.5, 5), 0);
  EXPECT_NEAR(TokensPerPass(*LeastAlpha(3, 5), 5), 3, 1e-12);
}

TEST(SpeculationTest, AVerifyPassIsModelledAndSlowerAtLargeBatches) {
  Inputs inputs = Llama();
  inputs["batch"] = "128";
  const Result<Answer> answer = Speculate(inputs);
  EXPECT_GT(SpeculationTerm(answer, "verify"), 1.2 * SpeculationTerm(answer, "target_step"));
  EXPECT_DOUBLE_EQ(SpeculationTerm(answer, "pass"),
                   4 * SpeculationTerm(answer, "draft_step") + SpeculationTerm(answer, "verify"));
  EXPECT_DOUBLE_EQ(SpeculationTerm(answer, "speed_up"), SpeculationTerm(answer, "tokens") *
                                                            SpeculationTerm(answer, "target_step") /
                                                            SpeculationTerm(answer, "pass"));
}

TEST(SpeculationTest, TheGridHasEveryBatchAndK) {
  Inputs inputs = Llama();
  inputs["batch"] = "1..32";
  const Result<Answer> answer = Speculate(inputs);
  ASSERT_TRUE(answer.ok()) << answer.status();
  const Grid& grid = answer->grids.at(0);
  EXPECT_EQ(grid.rows.size(), 6u);
  EXPECT_EQ(grid.columns.size(), 3u + 8u + 1u);
  for (const auto& row : grid.rows) EXPECT_EQ(row.size(), grid.columns.size());
  EXPECT_GE(SpeculationTerm(answer, "best_speed_up"), SpeculationTerm(answer, "speed_up"));
}

TEST(SpeculationTest, AtTheBatchWhereItStopsThereIsNoGain) {
  Inputs inputs = Llama();
  inputs["alpha"] = "0.7";
  const double stop = SpeculationTerm(Speculate(inputs), "stops_paying_at");
  inputs["batch"] = std::to_string(static_cast<int>(stop));
  EXPECT_LE(SpeculationTerm(Speculate(inputs), "speed_up"), 1);
  inputs["batch"] = std::to_string(static_cast<int>(stop) - 1);
  EXPECT_GT(SpeculationTerm(Speculate(inputs), "speed_up"), 1);
}

TEST(SpeculationTest, AtTheLeastAlphaTheSpeedUpIsOne) {
  Inputs inputs = Llama();
  inputs["batch"] = "16";
  inputs["alpha"] = std::to_string(SpeculationTerm(Speculate(inputs), "least_alpha"));
  EXPECT_NEAR(SpeculationTerm(Speculate(inputs), "speed_up"), 1, 1e-5);
}

TEST(SpeculationTest, WithABatchButNoGpuOneIsAssumedAndNamed) {
  Inputs inputs = Llama();
  inputs["batch"] = "1..8";
  const double with_gpu = SpeculationTerm(Speculate(inputs), "speed_up");
  inputs.erase("gpu");
  const Result<Answer> answer = Speculate(inputs);
  EXPECT_DOUBLE_EQ(SpeculationTerm(answer, "speed_up"), with_gpu);
  EXPECT_NE(answer->Find("cost")->source.find("H200 SXM"), std::string::npos);
}

TEST(SpeculationTest, ImpossibleQuestionsAreRefused) {
  EXPECT_EQ(SpeculationRefusal(Speculate({{"cost", "0.1"}})), "alpha");
  EXPECT_EQ(SpeculationRefusal(Speculate({{"alpha", "0.8"}})), "cost");
  EXPECT_EQ(SpeculationRefusal(Speculate({{"alpha", "1.1"}, {"cost", "0.1"}})), "alpha");
  EXPECT_EQ(SpeculationRefusal(Speculate({{"alpha", "0.8"}, {"cost", "0.1"}, {"k", "0"}})), "k");
  EXPECT_EQ(SpeculationRefusal(Speculate({{"alpha", "0.8"}, {"cost", "0.1"}, {"batch", "8"}})),
            "target");
  EXPECT_EQ(SpeculationRefusal(Speculate({{"alpha", "0.8"}, {"target", "llama-3-8b"}})), "draft");
  Inputs inputs = Llama();
  inputs["cost"] = "0.1";
  EXPECT_EQ(SpeculationRefusal(Speculate(inputs)), "cost");
}

TEST(SpeculationTest, WhatDoesNotFitIsRefused) {
  Inputs inputs = Llama();
  inputs["batch"] = "65536";
  EXPECT_EQ(SpeculationRefusal(Speculate(inputs)), "batch");
  inputs = Llama();
  inputs["gpu"] = "RTX 5080";
  EXPECT_EQ(SpeculationRefusal(Speculate(inputs)), "gpu");
  inputs = Llama();
  inputs["context"] = "9000";
  EXPECT_EQ(SpeculationRefusal(Speculate(inputs)), "context");
  inputs = Llama();
  inputs["tp"] = "3";
  EXPECT_EQ(SpeculationRefusal(Speculate(inputs)), "tp");
}

TEST(BatchingTest, TheMeanIsAtMostTheLongest) {
  const Topic& topic = *FindTopic("predict", "batching");
  const auto ask = [&](const char* mean) -> Result<Answer> {
    ASSAY_ASSIGN_OR_RETURN(const Arguments arguments,
                           Read(topic, {{"mean", mean}, {"longest", "800"}}, SheetsOnly()));
    return Evaluate(topic, arguments);
  };
  EXPECT_DOUBLE_EQ(SpeculationTerm(ask("200"), "static_use"), 0.25);
  EXPECT_DOUBLE_EQ(SpeculationTerm(ask("200"), "continuous_gain"), 4);
  EXPECT_EQ(SpeculationRefusal(ask("801")), "mean");
}

}  // namespace
}  // namespace assay::predict
