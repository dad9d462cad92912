// Worked examples from published sources. Each row of golden/*.csv asks one topic, as a user would,
// and holds one term of the answer.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "common/text.h"
#include "predict/topic.h"
#include "roofline/csv.h"

namespace assay::predict {
namespace {

// Columns of the files:
//   topic      "decode", or "plan serve".
//   inputs     "model=llama-3-70b;gpu=H200": as on the command line, separated by semicolons.
//   term       The term that is held; "refused" if the question must be refused, and `expected`
//              names the input then.
//   expected   With its unit, as inputs have it: "2.57ms". "exact" arithmetic needs all digits.
//   tolerance  Relative: "exact" (1e-9), or the precision of the published figure, such as "0.2%".
//   published_wrong  A figure that was published for this question and is wrong. Empty otherwise.
//   source     Where the figure was published, and for a wrong one why it is wrong.
struct Example {
  std::string where;  // "serving.csv: decode model=..."
  CsvRow row;
};

std::vector<Example> ReadExamples() {
  std::vector<Example> examples;
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_GOLDEN)) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    for (CsvRow& row : ParseCsv(text.str().c_str())) {
      std::string where = entry.path().filename().string() + ": " + row["topic"] + " " +
                          row["inputs"] + " -> " + row["term"];
      examples.push_back({std::move(where), std::move(row)});
    }
  }
  return examples;
}

Result<Answer> Ask(const CsvRow& row) {
  const std::string& name = row.at("topic");
  const bool plan = name.starts_with("plan ");
  const Topic* const topic = FindTopic(plan ? "plan" : "predict", plan ? name.substr(5) : name);
  if (topic == nullptr) return NotFound("no topic " + name);
  std::map<std::string, std::string> inputs;
  for (const std::string_view entry : Split(row.at("inputs"), ';')) {
    const auto parts = Split(entry, '=', 2);
    if (parts.size() == 2) inputs.emplace(parts[0], parts[1]);
  }
  ASSAY_ASSIGN_OR_RETURN(const Arguments arguments, Read(*topic, inputs, SheetsOnly()));
  return Evaluate(*topic, arguments);
}

double ToleranceOf(const std::string& text) {
  if (text == "exact") return 1e-9;
  const auto fraction = ParseQuantity(text, Unit::kFraction);
  EXPECT_TRUE(fraction.ok()) << text;
  return fraction.ok() ? fraction->value : 0;
}

double ValueOf(const std::string& text, Unit unit) {
  const auto quantity = ParseQuantity(text, unit);
  EXPECT_TRUE(quantity.ok()) << text << " is not a quantity of the term's unit";
  return quantity.ok() ? quantity->value : std::nan("");
}

void CheckRefusal(const Example& example, const Result<Answer>& answer) {
  ASSERT_FALSE(answer.ok()) << example.where << " must be refused";
  ASSERT_FALSE(answer.status().violations().empty()) << answer.status();
  EXPECT_EQ(answer.status().violations()[0].field, example.row.at("expected"))
      << example.where << ": " << answer.status();
  EXPECT_EQ(answer.status().code(), Code::kInvalidArgument);
}

TEST(GoldenTest, EveryPublishedExampleIsMet) {
  for (const Example& example : ReadExamples()) {
    const CsvRow& row = example.row;
    const Result<Answer> answer = Ask(row);
    if (row.at("term") == "refused") {
      CheckRefusal(example, answer);
      continue;
    }
    if (!answer.ok()) {
      ADD_FAILURE() << example.where << ": " << answer.status();
      continue;
    }
    const Term* const term = answer->Find(row.at("term"));
    if (term == nullptr) {
      ADD_FAILURE() << example.where << ": the answer has no such term";
      continue;
    }
    const double expected = ValueOf(row.at("expected"), term->unit);
    const double tolerance = ToleranceOf(row.at("tolerance"));
    EXPECT_LE(std::fabs(term->value - expected), std::fabs(expected) * tolerance + 1e-300)
        << example.where << ": " << term->value << ", published " << row.at("expected");
    if (row.at("published_wrong").empty()) continue;
    const double wrong = ValueOf(row.at("published_wrong"), term->unit);
    EXPECT_GT(std::fabs(term->value - wrong), std::fabs(wrong) * 2 * tolerance)
        << example.where << " returns the figure that is wrong: " << row.at("source");
  }
}

TEST(GoldenTest, AtLeast120ExamplesNameTheirSource) {
  int examples = 0;
  for (const Example& example : ReadExamples()) {
    ++examples;
    EXPECT_FALSE(example.row.at("source").empty()) << example.where;
  }
  EXPECT_GE(examples, 120);
}

}  // namespace
}  // namespace assay::predict
