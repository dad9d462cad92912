// Performance figures of GPUs, as measured in this fleet, for use in predictions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/commands/app.h"
#include "cli/commands/client.h"
#include "predict/topic.h"

namespace assay::cli {

struct FigureOptions {
  // Uses spec sheets alone, without a coordinator.
  bool offline = false;
  // The name of a node. If it is set, only results of this node replace the values of spec sheets.
  std::string node;
  // Uses results of simulated nodes instead of real ones.
  bool simulated = false;
  // Paths of model descriptions in the format of Hugging Face's config.json. Each model is named
  // after its file.
  std::vector<std::string> model_files;
};

// Adds --offline, --node, --simulated and --model-file to a command.
void AddFigureOptions(CLI::App& command, FigureOptions& options, bool has_gpu, bool has_model);

// A measured case of a benchmark that predictions use, summarized by the median of its results.
struct MeasuredCase {
  std::string benchmark;  // "gemm", "memory_bandwidth" or "all_reduce".
  // The parameters under the names that the benchmark gives them: m, n, k, dtype, op, bytes, ranks.
  std::map<std::string, std::string> parameters;
  predict::Figure figure;  // In FLOP/s or bytes per second, as `rate` says.
  int results = 0;
};

// Fetches benchmark results from the last 30 days on GPUs with this spec sheet, and summarizes them
// by case. Uses only gemm, memory_bandwidth and all_reduce. If a case ran with several drivers,
// uses only the driver with the newest result. Excludes doubtful results, for example those with
// the flag "shared_gpu". The range of a figure extends from the 5th to the 95th percentile.
Result<std::vector<MeasuredCase>> FetchMeasuredCases(Client& client, const GpuSpec& spec,
                                                     const FigureOptions& options);

// Returns the spec sheets of all GPU models on which the fleet has results.
Result<std::vector<const GpuSpec*>> MeasuredSheets(Client& client, bool simulated);

// Replaces those figures of `gpu` that were measured by the measured values.
void UseMeasured(const std::vector<MeasuredCase>& cases, predict::Hardware& gpu);

// Returns a source of performance figures for predictions that prefers the fleet's measurements
// over spec sheets. If the user did not name a coordinator and none can be reached, the source uses
// only spec sheets and says so once on stderr. `context` and `options` must outlive the returned
// object.
Result<predict::World> MakeWorld(Context& context, const FigureOptions& options);

}  // namespace assay::cli
