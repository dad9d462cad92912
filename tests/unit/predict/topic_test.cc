// Properties that hold for every topic.
#include "predict/topic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "common/text.h"

namespace assay::predict {
namespace {

using Inputs = std::map<std::string, std::string>;

// Reads the options of Topic::example: --name VALUE, --flag, "quoted values", and a model's name.
Inputs ExampleInputs(const Topic& topic) {
  std::vector<std::string> words;
  bool quoted = false;
  std::string word;
  for (const char c : topic.example + " ") {
    if (c == '"' || c == '\'') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      if (!word.empty()) words.push_back(word);
      word.clear();
    } else {
      word += c;
    }
  }
  Inputs inputs;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      inputs["model"] = words[i];
      continue;
    }
    std::string name = words[i].substr(2);
    std::replace(name.begin(), name.end(), '-', '_');
    const Input* const input = topic.Find(name);
    const bool flag = input != nullptr && input->kind == Input::Kind::kFlag;
    inputs[name] = flag ? "true" : words.at(++i);
  }
  return inputs;
}

Result<Answer> Ask(const Topic& topic, const Inputs& inputs) {
  ASSAY_ASSIGN_OR_RETURN(const Arguments arguments, Read(topic, inputs, SheetsOnly()));
  return Evaluate(topic, arguments);
}

std::string FieldOf(const Status& status) {
  return status.violations().empty() ? "" : status.violations()[0].field;
}

TEST(TopicTest, EveryExampleIsAnsweredWithTermsThatNameTheirFormula) {
  for (const Topic& topic : Topics()) {
    const Result<Answer> answer = Ask(topic, ExampleInputs(topic));
    ASSERT_TRUE(answer.ok()) << topic.name << ": " << answer.status();
    EXPECT_FALSE(answer->terms.empty()) << topic.name;
    for (const Term& term : answer->terms) {
      EXPECT_FALSE(term.formula.empty() && term.source.empty()) << topic.name << ": " << term.name;
      EXPECT_LE(term.low, term.value) << topic.name << ": " << term.name;
      EXPECT_GE(term.high, term.value) << topic.name << ": " << term.name;
    }
  }
}

TEST(TopicTest, TermsHaveDistinctNames) {
  for (const Topic& topic : Topics()) {
    const Result<Answer> answer = Ask(topic, ExampleInputs(topic));
    ASSERT_TRUE(answer.ok()) << topic.name;
    for (const Term& term : answer->terms) {
      EXPECT_EQ(answer->Find(term.name), &term) << topic.name << ": " << term.name;
    }
    if (!answer->dominant.empty()) {
      EXPECT_NE(answer->Find(answer->dominant), nullptr) << topic.name << ": " << answer->dominant;
    }
  }
}

TEST(TopicTest, EveryInputAndTopicIsExplained) {
  for (const Topic& topic : Topics()) {
    EXPECT_FALSE(topic.summary.empty()) << topic.name;
    for (const Input& input : topic.inputs) {
      EXPECT_FALSE(input.help.empty()) << topic.name << ": " << input.name;
    }
  }
}

TEST(TopicTest, AMissingRequiredInputIsNamed) {
  for (const Topic& topic : Topics()) {
    for (const Input& input : topic.inputs) {
      if (!input.required) continue;
      Inputs inputs = ExampleInputs(topic);
      inputs.erase(input.name);
      const Result<Answer> answer = Ask(topic, inputs);
      ASSERT_FALSE(answer.ok()) << topic.name << " without " << input.name;
      EXPECT_EQ(FieldOf(answer.status()), input.name) << answer.status();
    }
  }
}

TEST(TopicTest, UnknownInputsModelsAndGpusAreRefusedWithARemedy) {
  for (const Topic& topic : Topics()) {
    for (const Input& input : topic.inputs) {
      const bool named = input.kind == Input::Kind::kModel || input.kind == Input::Kind::kGpu ||
                         input.kind == Input::Kind::kGpus || input.kind == Input::Kind::kChoice;
      if (!named) continue;
      Inputs inputs = ExampleInputs(topic);
      inputs[input.name] = "llama-9-9b";
      const Result<Answer> answer = Ask(topic, inputs);
      ASSERT_FALSE(answer.ok()) << topic.name << ": " << input.name;
      EXPECT_EQ(FieldOf(answer.status()), input.name) << answer.status();
      EXPECT_FALSE(answer.status().hint().empty()) << answer.status();
    }
    Inputs inputs = ExampleInputs(topic);
    inputs["bacth"] = "1";
    EXPECT_EQ(FieldOf(Ask(topic, inputs).status()), "bacth") << topic.name;
  }
}

TEST(TopicTest, NumbersThatMeanNothingAreRefused) {
  for (const Topic& topic : Topics()) {
    for (const Input& input : topic.inputs) {
      const bool number =
          input.kind == Input::Kind::kQuantity || input.kind == Input::Kind::kCounts;
      if (!number) continue;
      for (const char* text :
           {"nan", "-nan", "inf", "1e30", "1e400", "", "x", "-1", "--1", "1e3x"}) {
        if (input.unit == Unit::kNumber && std::string(text) == "-1" && input.least < -1) continue;
        Inputs inputs = ExampleInputs(topic);
        inputs[input.name] = text;
        const Result<Answer> answer = Ask(topic, inputs);
        ASSERT_FALSE(answer.ok()) << topic.name << ": " << input.name << "=" << text;
        EXPECT_EQ(FieldOf(answer.status()), input.name) << answer.status();
        EXPECT_EQ(answer.status().code(), Code::kInvalidArgument);
      }
    }
  }
}

// Every answer to an extreme number is finite, or a refusal that names an input.
TEST(TopicTest, ExtremeNumbersGiveFiniteAnswersOrRefusals) {
  const std::map<Unit, std::string> suffixes = {{Unit::kSeconds, "s"},
                                                {Unit::kBytesPerSecond, "B/s"},
                                                {Unit::kFlopPerSecond, "FLOP/s"},
                                                {Unit::kPerSecond, "/s"},
                                                {Unit::kMoney, " USD"},
                                                {Unit::kMoneyPerHour, " USD"},
                                                {Unit::kHertz, "Hz"},
                                                {Unit::kWatts, "W"},
                                                {Unit::kJoules, "J"}};
  for (const Topic& topic : Topics()) {
    for (const Input& input : topic.inputs) {
      if (input.kind != Input::Kind::kQuantity) continue;
      for (const char* digits : {"1e-12", "0", "0.5", "1", "7", "1e6", "1e12", "1e18", "1e29"}) {
        Inputs inputs = ExampleInputs(topic);
        const auto suffix = suffixes.find(input.unit);
        inputs[input.name] = digits + (suffix == suffixes.end() ? "" : suffix->second);
        const Result<Answer> answer = Ask(topic, inputs);
        if (!answer.ok()) {
          EXPECT_FALSE(FieldOf(answer.status()).empty()) << topic.name << ": " << answer.status();
          continue;
        }
        for (const Term& term : answer->terms) {
          EXPECT_TRUE(std::isfinite(term.value) && std::isfinite(term.low) &&
                      std::isfinite(term.high))
              << topic.name << " " << input.name << "=" << inputs[input.name] << ": " << term.name;
        }
      }
    }
  }
}

TEST(TopicTest, AFigureOfTheUserReplacesTheSheets) {
  const Topic& matmul = *FindTopic("predict", "matmul");
  const Inputs inputs = {
      {"gpu", "H200"}, {"m", "4096"}, {"n", "4096"}, {"k", "4096"}, {"peak", "100TFLOP/s"}};
  const Result<Answer> answer = Ask(matmul, inputs);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->Find("peak")->source, "given");
  EXPECT_DOUBLE_EQ(answer->Find("peak")->value, 100e12);
  EXPECT_DOUBLE_EQ(answer->Find("compute")->value, 2.0 * 4096 * 4096 * 4096 / 100e12);
}

TEST(TopicTest, ALinkInBothDirectionsIsHalved) {
  const Topic& matmul = *FindTopic("predict", "matmul");
  Inputs inputs = {{"gpu", "H200"}, {"m", "4096"},  {"n", "4096"},      {"k", "4096"},
                   {"gpus", "2"},   {"split", "k"}, {"link", "900GB/s"}};
  const Result<Answer> one_way = Ask(matmul, inputs);
  inputs["both_directions"] = "true";
  const Result<Answer> both = Ask(matmul, inputs);
  ASSERT_TRUE(one_way.ok() && both.ok());
  EXPECT_DOUBLE_EQ(both->Find("communication")->value, 2 * one_way->Find("communication")->value);
}

TEST(TopicTest, MeasuredFiguresGiveARange) {
  const Topic& matmul = *FindTopic("predict", "matmul");
  World world = SheetsOnly();
  world.find_hardware = [](const std::string&) -> Result<Hardware> {
    Hardware gpu = FromSheet(*SheetNamed("H200 SXM"));
    gpu.memory_bandwidth = Figure{4e12, 3e12, 4.4e12, "measured in this fleet: 9 results"};
    return gpu;
  };
  const Inputs inputs = {{"gpu", "H200"}, {"m", "1"}, {"n", "8192"}, {"k", "8192"}};
  const Result<Arguments> arguments = Read(matmul, inputs, world);
  ASSERT_TRUE(arguments.ok());
  const Result<Answer> answer = Evaluate(matmul, *arguments);
  ASSERT_TRUE(answer.ok());
  const Term& time = *answer->Find("time");
  EXPECT_DOUBLE_EQ(time.high / time.value, 4e12 / 3e12);
  EXPECT_DOUBLE_EQ(time.low / time.value, 4e12 / 4.4e12);
}

TEST(TopicTest, AnAmbiguousGpuNamesItsVariants) {
  const Result<const GpuSpec*> sheet = FindSheet("A100");
  ASSERT_FALSE(sheet.ok());
  EXPECT_EQ(sheet.status().code(), Code::kInvalidArgument);
  EXPECT_EQ((*FindSheet("h200"))->name, "H200 SXM");
  EXPECT_EQ((*FindSheet("NVIDIA H200"))->name, "H200 SXM");
}

}  // namespace
}  // namespace assay::predict
