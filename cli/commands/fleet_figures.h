// Figures of GPUs as this fleet measured them, for predictions.
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
  // Uses what this node measured, where it did.
  std::string node;
  // Uses results of simulated nodes instead of real ones.
  bool simulated = false;
  // JSON files as Hugging Face's config.json, each a model named as the file.
  std::vector<std::string> model_files;
};

// Adds --offline, --node, --simulated and --model-file to a command.
void AddFigureOptions(CLI::App& command, FigureOptions& options, bool has_gpu, bool has_model);

// A measured case of a benchmark that predictions build on: the median over its results.
struct MeasuredCase {
  std::string benchmark;  // "gemm", "memory_bandwidth" or "all_reduce".
  // As the benchmark names them: m, n, k, dtype, op, bytes, ranks.
  std::map<std::string, std::string> parameters;
  predict::Figure figure;  // In FLOP/s or bytes per second, as `rate` says.
  int results = 0;
};

// Fetches the results of gemm, memory_bandwidth and all_reduce of the last 30 days on GPUs with
// this sheet, summarized by case. If a case ran with several drivers, only those of the newest
// count. Runs with doubts are left out. The range of a figure is from the 5th to the 95th
// percentile of its results.
Result<std::vector<MeasuredCase>> FetchMeasuredCases(Client& client, const GpuSpec& spec,
                                                     const FigureOptions& options);

// Returns the sheets of GPUs on which the fleet has results.
Result<std::vector<const GpuSpec*>> MeasuredSheets(Client& client, bool simulated);

// Replaces figures of `gpu` by measured ones.
void UseMeasured(const std::vector<MeasuredCase>& cases, predict::Hardware& gpu);

// Returns what topics may use: the fleet's figures before spec sheets. Without a coordinator, and
// without one named by the user, uses sheets and says so on stderr once. The world refers to
// `context` and `options`, which must outlive it.
Result<predict::World> MakeWorld(Context& context, const FigureOptions& options);

}  // namespace assay::cli
