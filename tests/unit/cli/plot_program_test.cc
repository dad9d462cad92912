// assay plot as a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/commands/exit_code.h"
#include "cli/views/bandwidth_plot.h"
#include "cli/views/roofline_plot.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/unit/cli/plot_answers.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

// The styles of output that is not a terminal.
const PlotStyle kFilePlot{PlotStyle().width, 18, PlotStyle().unicode};
const Style kFileTable;

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
  EXPECT_EQ(plot.out, RooflinePlot(RooflineAnswer(), kFilePlot));
  EXPECT_EQ(fake_.last_filter(), "gpu.model = H200");
  EXPECT_EQ(Run({"roofline", "-o", "csv"}).out, RooflineCsv(RooflineAnswer()));
  EXPECT_EQ(Run({"roofline", "-o", "table"}).out, RooflineTable(RooflineAnswer(), kFileTable));
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
  EXPECT_EQ(plot.out, BandwidthPlot(BandwidthsOf(answer.table()), kFilePlot));
  EXPECT_WORDING("cli/plot-other-benchmark", plot.err);
  EXPECT_EQ(fake_.last_filter(), "node = g1 AND " + BandwidthFilter());
  EXPECT_EQ(nlohmann::json::parse(Run({"bandwidth", "-o", "json"}).out)["benchmark"], "all_reduce");
}

TEST_F(PlotProgram, NothingToPlotSaysWhatWouldGiveSomething) {
  for (const char* kind : {"roofline", "bandwidth"}) {
    const ProgramRun run = Run({kind});
    EXPECT_EQ(run.exit_code, kExitDone) << kind;
    EXPECT_EQ(run.out, "") << kind;
    EXPECT_WORDING(std::string("cli/plot-nothing-") + kind, run.err);
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
