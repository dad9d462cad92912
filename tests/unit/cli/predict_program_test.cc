// assay predict, plan, model, specs and fit as a program.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/exit_code.h"
#include "tests/temporary_folder.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

// Nothing listens there.
constexpr char kNowhere[] = "127.0.0.1:1";

const Words kDecode = {"predict", "decode", "--model",   "llama-3-8b", "--gpu",    "H200",
                       "--batch", "1",      "--context", "1024",       "--offline"};

Words With(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(PredictProgramTest, EveryFormOfOutputHasTheTerms) {
  const ProgramRun json = RunAssay(With(kDecode, {"-o", "json"}), kNowhere);
  ASSERT_EQ(json.exit_code, kExitDone) << json.err;
  const Json answer = Json::parse(json.out);
  EXPECT_EQ(answer["topic"], "predict decode");
  EXPECT_EQ(answer["inputs"]["model"], "llama-3-8b");
  const std::string csv = RunAssay(With(kDecode, {"-o", "csv"}), kNowhere).out;
  EXPECT_TRUE(csv.starts_with("name,value,unit,low,high,formula,source\r\n")) << csv;
  const std::string table = RunAssay(kDecode, kNowhere).out;
  for (const Json& term : answer["terms"]) {
    const std::string name = term["name"];
    EXPECT_NE(csv.find("\n" + name + ","), std::string::npos) << name;
    EXPECT_NE(table.find(name), std::string::npos) << name;
  }
}

TEST(PredictProgramTest, InputsMayBeOptionsOrPairs) {
  const ProgramRun options = RunAssay(With(kDecode, {"-o", "json"}), kNowhere);
  const ProgramRun pairs = RunAssay({"predict", "decode", "llama-3-8b", "gpu=H200", "batch=1",
                                     "context=1024", "--offline", "-o", "json"},
                                    kNowhere);
  EXPECT_EQ(pairs.exit_code, kExitDone) << pairs.err;
  EXPECT_EQ(pairs.out, options.out);
}

TEST(PredictProgramTest, WrongInputs_ExitWith2AndSayWhatWouldBeRight) {
  std::string messages;
  for (const Words& words : std::vector<Words>{
           {"predict", "decode", "--gpu", "H200", "--offline"},
           {"predict", "decode", "--model", "llama-3-80b", "--gpu", "H200", "--offline"},
           {"predict", "decode", "--model", "llama-3-8b", "--gpu", "H2000", "--offline"},
           {"predict", "decode", "--model", "llama-3-8b", "--gpu", "A100", "--offline"},
           With(kDecode, {"--tp", "3"}),
           With(kDecode, {"--tp", "0"}),
           With(kDecode, {"context=5"}),
           With(kDecode, {"bacth=5"}),
           {"predict", "decode", "--model", "llama-3-8b", "--gpu", "H200", "--context", "9000",
            "--offline"},
           {"predict", "decode", "--model", "llama-3-70b", "--gpu", "H100 SXM", "--offline"},
           {"predict", "allreduce", "--bytes", "1GiB", "--gpus", "8", "--link", "900"},
           {"plan", "train", "--model", "llama-3-8b", "--tokens", "15T", "--gpu", "H200", "--gpus",
            "64", "--price", "2.00", "--offline"},
           {"predict", "-o", "json", "matmul", "m=1", "n=1", "k=1", "gpu=H200", "--offline"},
           {"predict", "everything"},
           {"plan"},
           {"model", "show", "llama3-70b"},
           {"specs", "--gpu", "H300"},
           {"specs", "--price", "H200=3.50"},
           {"fit", "scaling-law", "1e6=5.3", "2e6=4.9"}}) {
    const ProgramRun run = RunAssay(words, kNowhere);
    EXPECT_EQ(run.exit_code, kExitUsage) << testing::PrintToString(words) << run.out << run.err;
    EXPECT_EQ(run.out, "");
    messages += run.err;
  }
  EXPECT_WORDING("cli/predict-usage", messages);
}

TEST(PredictProgramTest, ANamedCoordinatorThatIsAway_ExitsWith3) {
  Words words = kDecode;
  words.pop_back();
  const ProgramRun run = RunAssay(words, kNowhere);
  EXPECT_EQ(run.exit_code, kExitUnreachable);
  EXPECT_EQ(run.out, "");
}

TEST(PredictProgramTest, MeasuredFiguresComeBeforeTheSheet) {
  FakeCoordinator fake;
  v1::Facet& models = *fake.facets.add_facets();
  models.set_field("gpu.model");
  models.add_values("H200");
  fake.Start();
  Words words = kDecode;
  words.pop_back();
  const ProgramRun run = RunAssay(With(words, {"-o", "json"}), fake.address());
  ASSERT_EQ(run.exit_code, kExitDone) << run.err;
  // The fake has no results, so the sheet remains; but it was asked.
  const std::string filter = fake.last_groups().filter();
  EXPECT_NE(filter.find("gpu.model = \"H200\""), std::string::npos) << filter;
}

TEST(PredictProgramTest, AModelFileIsTheShapeOfItsModel) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/my-model.json";
  std::ofstream(path) << R"({"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
    "vocab_size": 128256, "max_position_embeddings": 8192, "tie_word_embeddings": false})";
  const ProgramRun run = RunAssay({"predict", "decode", "--model-file", path, "--gpu", "H200",
                                   "--batch", "1", "--context", "1024", "--offline", "-o", "json"},
                                  kNowhere);
  ASSERT_EQ(run.exit_code, kExitDone) << run.err;
  const Json own = Json::parse(run.out);
  EXPECT_EQ(own["inputs"]["model"], "my-model");
  const Json known = Json::parse(RunAssay(With(kDecode, {"-o", "json"}), kNowhere).out);
  ASSERT_EQ(own["terms"].size(), known["terms"].size());
  for (size_t i = 0; i < own["terms"].size(); ++i) {
    EXPECT_EQ(own["terms"][i]["value"], known["terms"][i]["value"]) << own["terms"][i]["name"];
  }
}

TEST(PredictProgramTest, BrokenModelFiles_ExitWith2AndNameTheField) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/config.json";
  std::string messages;
  for (const char* text : {"", "[]", "{", R"({"model_type": 7})", R"({"model_type": "mamba"})",
                           R"({"model_type": "llama", "num_hidden_layers": "32"})",
                           R"({"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096,
            "num_attention_heads": 0, "intermediate_size": 1, "vocab_size": 1,
            "max_position_embeddings": 1})"}) {
    std::ofstream(path) << text;
    const ProgramRun run = RunAssay(
        {"predict", "decode", "--model-file", path, "--gpu", "H200", "--offline"}, kNowhere);
    EXPECT_EQ(run.exit_code, kExitUsage) << text << run.err;
    std::string error = run.err;
    error.replace(error.find(path), path.size(), "CONFIG");
    messages += error;
  }
  EXPECT_WORDING("cli/predict-model-file", messages);
}

TEST(PredictProgramTest, ModelsAndSheetsAreListed) {
  const ProgramRun models = RunAssay({"model", "list", "-o", "csv"}, kNowhere);
  EXPECT_EQ(models.exit_code, kExitDone) << models.err;
  EXPECT_NE(models.out.find("llama-3-70b,70553706496,"), std::string::npos);
  const ProgramRun shown = RunAssay({"model", "show", "llama-3-70b", "-o", "json"}, kNowhere);
  EXPECT_EQ(Json::parse(shown.out)["terms"][0]["value"], 70553706496.0);
  const ProgramRun specs = RunAssay({"specs", "-o", "csv"}, kNowhere);
  EXPECT_NE(specs.out.find("H200 SXM,"), std::string::npos) << specs.out;
  const ProgramRun priced =
      RunAssay({"specs", "--gpu", "H200", "--price", "H200=3.60 USD", "-o", "json"}, kNowhere);
  ASSERT_EQ(priced.exit_code, kExitDone) << priced.err;
  EXPECT_DOUBLE_EQ(Json::parse(priced.out)["tables"][0]["rows"][0]["bytes_per_money"], 4.8e15);
}

TEST(PredictProgramTest, AScalingLawIsFittedToPoints) {
  // L = 10 N^-0.1, so the exponent is known.
  Words words = {"fit", "scaling-law", "-o", "json"};
  for (const double n : {1e6, 4e6, 16e6, 64e6}) {
    char point[64];
    std::snprintf(point, sizeof point, "%.0f=%.12g", n, 10 * std::pow(n, -0.1));
    words.emplace_back(point);
  }
  const ProgramRun run = RunAssay(words, kNowhere);
  ASSERT_EQ(run.exit_code, kExitDone) << run.err;
  const Json answer = Json::parse(run.out);
  int exponents = 0;
  for (const Json& term : answer["terms"]) {
    if (term["name"] != "exponent") continue;
    ++exponents;
    EXPECT_NEAR(term["value"].get<double>(), 0.1, 1e-6);
  }
  EXPECT_EQ(exponents, 1);
}

}  // namespace
}  // namespace assay::cli
