// assay plot as a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/commands/exit_code.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/unit/cli/plot_answers.h"

namespace assay::cli {
namespace {

using ::testing::HasSubstr;

class PlotProgram : public testing::Test {
 protected:
  PlotProgram() { fake_.Start(); }

  ProgramRun Run(std::vector<std::string> arguments) {
    if (fake_.port() == 0) fake_.Start();
    arguments.insert(arguments.begin(), "plot");
    return RunAssay(arguments, fake_.address());
  }

  FakeCoordinator fake_;
};

TEST_F(PlotProgram, RooflineIsPlottedOrGivenAsData) {
  fake_.roofline = RooflineAnswer();
  const ProgramRun plot = Run({"roofline", "--filter", "gpu.model = H200"});
  EXPECT_EQ(plot.exit_code, kExitDone) << plot.err;
  EXPECT_THAT(plot.out, HasSubstr("H200 SXM: 6 results"));
  EXPECT_EQ(fake_.last_filter(), "gpu.model = H200");
  EXPECT_THAT(Run({"roofline", "-o", "csv"}).out, HasSubstr("arithmetic_intensity"));
  EXPECT_THAT(Run({"roofline", "-o", "table"}).out, HasSubstr("FLOP/B"));
  const auto json = nlohmann::json::parse(Run({"roofline", "-o", "json"}).out);
  EXPECT_EQ(json["rooflines"][0]["points"].size(), 6U);
}

TEST_F(PlotProgram, BandwidthIsPlottedOrGivenAsData) {
  BandwidthAnswer answer;
  answer.AddSweep("580.95.05", 4e11);
  answer.Add("all_gather", "bus_bandwidth", "bytes=8", 1, "580.95.05", 0);
  fake_.table = answer.table();
  const ProgramRun plot = Run({"bandwidth", "--filter", "node = g1"});
  EXPECT_EQ(plot.exit_code, kExitDone) << plot.err;
  EXPECT_THAT(plot.out, HasSubstr("all_reduce"));
  EXPECT_THAT(plot.err, HasSubstr("benchmark = all_gather"));
  EXPECT_THAT(fake_.last_filter(), HasSubstr("node = g1 AND "));
  EXPECT_EQ(nlohmann::json::parse(Run({"bandwidth", "-o", "json"}).out)["benchmark"], "all_reduce");
}

TEST_F(PlotProgram, NothingToPlotSaysWhatWouldGiveSomething) {
  for (const char* kind : {"roofline", "bandwidth"}) {
    const ProgramRun run = Run({kind});
    EXPECT_EQ(run.exit_code, kExitDone) << kind;
    EXPECT_EQ(run.out, "") << kind;
    EXPECT_THAT(run.err, HasSubstr("hint: ")) << kind;
  }
}

TEST_F(PlotProgram, WrongArgumentsAreRefused) {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{},
                                             {"rooflin"},
                                             {"roofline", "-o", "png"},
                                             {"roofline", "--limit", "0"},
                                             {"roofline", "--limit", "10001"},
                                             {"bandwidth", "--filter", "("},
                                             {"bandwidth", "--since", "soon"}}) {
    EXPECT_EQ(Run(wrong).exit_code, kExitUsage) << (wrong.empty() ? "" : wrong.back());
  }
}

}  // namespace
}  // namespace assay::cli
