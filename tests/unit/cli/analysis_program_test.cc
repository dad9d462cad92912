// The real program: commands that compare and judge results.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/exit_code.h"
#include "tests/unit/cli/analysis_answers.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

using Arguments = std::vector<std::string>;

class AnalysisProgramTest : public testing::Test {
 protected:
  ProgramRun Run(const Arguments& arguments) {
    if (fake_.port() == 0) fake_.Start();
    return RunAssay(arguments, fake_.address());
  }

  FakeCoordinator fake_;
};

TEST_F(AnalysisProgramTest, WrongUsage_ExitsWith2AndSaysWhatWouldBeRight) {
  std::string messages;
  for (const Arguments& arguments :
       std::vector<Arguments>{{"compare"},
                              {"compare", "580"},
                              {"compare", "--by", "kernel"},
                              {"compare", "--by", "driver", "1", "2", "3"},
                              {"compare", "--by", "driver", "--published"},
                              {"compare", "--a", "driver = 1"},
                              {"compare", "--published", "--margin", "2%"},
                              {"compare", "--by", "driver", "--margin", "0%"},
                              {"compare", "--by", "driver", "--margin", "nan"},
                              {"history"},
                              {"history", "gemm[m"},
                              {"history", "gemm >= 3"},
                              {"history", "gemm", "--places", "0"},
                              {"regressions", "ack", "3f2a91c0"},
                              {"regressions", "nightly"},
                              {"baseline", "set"},
                              {"annotate", ""},
                              {"annotate", "moved", "--time", "soon"},
                              {"cost", "--since", "then"}}) {
    const ProgramRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, kExitUsage) << testing::PrintToString(arguments);
    EXPECT_EQ(run.out, "");
    messages += run.err;
  }
  EXPECT_WORDING("cli/analysis-usage", messages);
}

TEST_F(AnalysisProgramTest, Compare_SendsTheSides) {
  // The fake has no results, so nothing can be compared.
  EXPECT_EQ(Run({"compare", "--by", "driver"}).exit_code, kExitRefused);
  EXPECT_EQ(fake_.last_comparison().by(), "driver");
  EXPECT_EQ(fake_.last_comparison().value_b(), "");
  EXPECT_EQ(fake_.last_comparison().margin(), 0);
  Run({"compare", "--by", "gpu", "H200", "--filter", "benchmark = gemm", "--margin", "5%"});
  EXPECT_EQ(fake_.last_comparison().by(), "gpu.model");
  EXPECT_EQ(fake_.last_comparison().value_a(), "");
  EXPECT_EQ(fake_.last_comparison().value_b(), "H200");
  EXPECT_EQ(fake_.last_comparison().filter(), "benchmark = gemm");
  EXPECT_DOUBLE_EQ(fake_.last_comparison().margin(), 0.05);
  Run({"compare", "--by", "driver", "580.95.05", "590.10", "--since", "2026-11-01"});
  EXPECT_EQ(fake_.last_comparison().value_a(), "580.95.05");
  EXPECT_EQ(fake_.last_comparison().value_b(), "590.10");
  EXPECT_EQ(fake_.last_comparison().filter(), "end_time >= 2026-11-01T00:00:00Z");
  Run({"compare", "--a", "label.rack = 1", "--b", "label.rack = 2"});
  EXPECT_EQ(fake_.last_comparison().by(), "");
  EXPECT_EQ(fake_.last_comparison().filter_a(), "label.rack = 1");
  EXPECT_EQ(fake_.last_comparison().filter_b(), "label.rack = 2");
}

TEST_F(AnalysisProgramTest, Compare_ExitsWith1OnlyForRegressions) {
  fake_.comparison = DriverComparison();
  for (const char* format : {"table", "json", "csv"}) {
    const ProgramRun run = Run({"compare", "--by", "driver", "-o", format});
    EXPECT_EQ(run.exit_code, kExitFailed) << format;
    EXPECT_NE(run.out, "");
  }
  const auto json = nlohmann::json::parse(Run({"compare", "--by", "driver", "-o", "json"}).out);
  EXPECT_EQ(json["cases"][0]["verdict"], "regressed");
  EXPECT_EQ(json["cases"][2]["missing"], "runs");
  fake_.Stop();
  fake_.comparison.mutable_cases()->DeleteSubrange(0, 1);
  fake_.Start();
  EXPECT_EQ(Run({"compare", "--by", "driver"}).exit_code, kExitDone);
}

TEST_F(AnalysisProgramTest, EmptyAnswers_SayWhatToDoNext) {
  const ProgramRun compare = Run({"compare", "--by", "driver"});
  EXPECT_EQ(compare.exit_code, kExitRefused);
  EXPECT_EQ(compare.out, "");
  std::string messages = compare.err;
  for (const Arguments& arguments : std::vector<Arguments>{
           {"history", "gemm"}, {"regressions"}, {"outliers"}, {"baseline", "list"}, {"cost"}}) {
    const ProgramRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, kExitDone);
    EXPECT_EQ(run.out, "");
    messages += run.err;
  }
  EXPECT_WORDING("cli/analysis-empty", messages);
}

TEST_F(AnalysisProgramTest, NothingFound_SaysHowFarResultsAreJudged) {
  *fake_.regressions.mutable_judged_until() = Night(20);
  *fake_.outliers.mutable_judged_until() = Night(20);
  fake_.outliers.set_judged_places(64);
  fake_.history.set_failed_count(3);
  fake_.costs.set_unpriced_runs(17);
  fake_.comparison.set_runs_a(3);
  fake_.comparison.set_label_a("node g1");
  std::string messages;
  for (const Arguments& arguments : std::vector<Arguments>{{"regressions"},
                                                           {"regressions", "--all"},
                                                           {"regressions", "--node", "g1"},
                                                           {"outliers"},
                                                           {"outliers", "--node", "g1"},
                                                           {"history", "gemm"},
                                                           {"compare", "--by", "node", "g1", "g2"},
                                                           {"cost"}}) {
    const ProgramRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, arguments[0] == "compare" ? kExitRefused : kExitDone);
    messages += run.out + run.err;
  }
  EXPECT_WORDING("cli/analysis-nothing-found", messages);
}

TEST_F(AnalysisProgramTest, History_TurnsTheCaseIntoAFilter) {
  fake_.history = CopyHistory(2);
  const ProgramRun run = Run({"history", "gemm[m=4096, dtype=bf16].tflops", "--node", "a\"b",
                              "--filter", "driver = 590", "--places", "3"});
  EXPECT_EQ(run.exit_code, kExitDone) << run.err;
  EXPECT_EQ(fake_.last_history().filter(),
            "driver = 590 AND benchmark = \"gemm\" AND parameters.m = \"4096\" AND "
            "parameters.dtype = \"bf16\" AND metric = \"tflops\" AND node = \"a\\\"b\"");
  EXPECT_EQ(fake_.last_history().place_limit(), 3);
  Run({"history", "gemm"});
  EXPECT_EQ(fake_.last_history().filter(), "benchmark = \"gemm\"");
  EXPECT_EQ(fake_.last_history().place_limit(), 20);
  const auto json = nlohmann::json::parse(Run({"history", "gemm", "-o", "json"}).out);
  EXPECT_EQ(json["places"][0]["points"].size(), 40U);
  EXPECT_NE(Run({"history", "gemm", "-o", "csv"}).out.find("580.95.05,false,,r0"),
            std::string::npos);
}

TEST_F(AnalysisProgramTest, Regressions_OfAllPagesAndOneIncident) {
  fake_.regressions = DriverRegressions();
  const ProgramRun incidents = Run({"regressions"});
  EXPECT_EQ(incidents.exit_code, kExitDone);
  EXPECT_WORDING("cli/regressions", incidents.out + incidents.err);
  EXPECT_FALSE(fake_.last_regressions().include_closed());
  EXPECT_EQ(Run({"regressions", "--exit-code"}).exit_code, kExitFailed);
  const ProgramRun one = Run({"regressions", "--incident", "3f2a"});
  EXPECT_WORDING("cli/regressions-incident", one.out + one.err);
  EXPECT_EQ(fake_.last_regressions().incident_id(), "3f2a91c0-0000-4000-8000-000000000000");
  EXPECT_EQ(Run({"regressions", "--incident", "beef"}).exit_code, kExitRefused);
  EXPECT_EQ(Run({"regressions", "--incident", ""}).exit_code, kExitUsage);
  Run({"regressions", "--all", "--node", "g1", "--simulated"});
  EXPECT_TRUE(fake_.last_regressions().include_closed());
  EXPECT_TRUE(fake_.last_regressions().simulated());
  EXPECT_EQ(fake_.last_regressions().node_name(), "g1");
  const auto json = nlohmann::json::parse(Run({"regressions", "-o", "json"}).out);
  EXPECT_EQ(json["incidents"].size(), 2U);
  EXPECT_EQ(json["regressions"].size(), 2U);
}

TEST_F(AnalysisProgramTest, Acknowledge_SendsTheNote) {
  const ProgramRun run =
      Run({"regressions", "ack", "3f2a91c0", "--note", "new fan", "--false-alarm"});
  EXPECT_EQ(run.exit_code, kExitDone) << run.err;
  EXPECT_EQ(run.out, "Acknowledged 12 regressions as a false alarm.\n");
  EXPECT_EQ(fake_.last_acknowledge().id(), "3f2a91c0");
  EXPECT_EQ(fake_.last_acknowledge().note(), "new fan");
  EXPECT_TRUE(fake_.last_acknowledge().false_alarm());
  EXPECT_EQ(Run({"regressions", "ack", "unknown", "--note", "x"}).exit_code, kExitRefused);
}

TEST_F(AnalysisProgramTest, OutliersOfANode_HaveEachCase) {
  fake_.outliers = SlowGpus();
  const ProgramRun run = Run({"outliers", "--node", "sim-0007", "--simulated"});
  EXPECT_EQ(run.exit_code, kExitDone);
  EXPECT_EQ(fake_.last_outliers().node_name(), "sim-0007");
  EXPECT_TRUE(fake_.last_outliers().simulated());
  EXPECT_NE(run.out.find("power-limited"), std::string::npos);
  const auto json = nlohmann::json::parse(Run({"outliers", "-o", "json"}).out);
  EXPECT_EQ(json["outliers"][1]["kind"], "implausible");
  EXPECT_EQ(json["judged_places"], 64);
}

TEST_F(AnalysisProgramTest, Baselines_AreSetListedAndShown) {
  fake_.baselines = {GemmBaseline()};
  EXPECT_EQ(Run({"baseline", "set", "nightly", "--filter", "benchmark = gemm"}).exit_code,
            kExitDone);
  EXPECT_EQ(fake_.last_baseline().name(), "nightly");
  EXPECT_EQ(fake_.last_baseline().filter(), "benchmark = gemm");
  const auto list = nlohmann::json::parse(Run({"baseline", "list", "-o", "json"}).out);
  EXPECT_EQ(list[0]["case_count"], 2);
  const auto shown =
      nlohmann::json::parse(Run({"baseline", "show", "accepted-2026-11", "-o", "json"}).out);
  EXPECT_EQ(shown["cases"][0]["case"]["benchmark"], "gemm");
  EXPECT_EQ(Run({"baseline", "show", "other"}).exit_code, kExitRefused);
}

TEST_F(AnalysisProgramTest, Annotate_SendsTimeAndNode) {
  const ProgramRun run =
      Run({"annotate", "moved to rack 7", "--time", "2026-11-20T08:00", "--node", "g1"});
  EXPECT_EQ(run.exit_code, kExitDone) << run.err;
  EXPECT_EQ(run.out, "Annotated 2026-11-20 08:00 on node g1: moved to rack 7\n");
  EXPECT_EQ(fake_.last_annotation().annotation().node_name(), "g1");
  EXPECT_EQ(fake_.last_annotation().annotation().time().seconds(), 1795161600);
  Run({"annotate", "power cut"});
  EXPECT_GT(fake_.last_annotation().annotation().time().seconds(), 1700000000);
}

TEST_F(AnalysisProgramTest, Cost_SendsTheFilter) {
  fake_.costs = Costs();
  const ProgramRun run = Run({"cost", "--filter", "benchmark = gemm", "--until", "2026-11-20"});
  EXPECT_EQ(run.exit_code, kExitDone);
  EXPECT_EQ(fake_.last_costs().filter(), "benchmark = gemm AND end_time < 2026-11-20T00:00:00Z");
  EXPECT_NE(run.out.find("cheapest"), std::string::npos);
  const auto json = nlohmann::json::parse(Run({"cost", "-o", "json"}).out);
  EXPECT_EQ(json["rows"][0]["provider"], "runpod");
  EXPECT_FALSE(json["rows"][2].contains("dollars_per_rate_hour"));
}

TEST_F(AnalysisProgramTest, CampaignShow_AsJunitAndMarkdown) {
  v1::Campaign& campaign = fake_.campaigns.emplace_back();
  campaign.set_campaign_id("c1");
  campaign.set_name("nightly");
  campaign.add_rules()->set_rule("gemm.tflops >= 1 TFLOP/s");
  EXPECT_EQ(Run({"campaign", "show", "nightly", "-o", "junit"}).out.find("<?xml"), 0U);
  EXPECT_EQ(Run({"campaign", "show", "nightly", "-o", "markdown"}).out.find("**Campaign"), 0U);
  EXPECT_EQ(Run({"campaign", "show", "nightly", "-o", "xml"}).exit_code, kExitUsage);
}

}  // namespace
}  // namespace assay::cli
