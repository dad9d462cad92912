// assay cost
#include <unistd.h>

#include <memory>

#include "cli/commands/app.h"
#include "cli/commands/fetch_results.h"
#include "cli/views/cost_view.h"
#include "cli/views/message_json.h"
#include "common/text.h"

namespace assay::cli {
namespace {

struct CostOptions {
  ResultsQuery query;
  OutputFormat format = OutputFormat::kTable;
};

Result<ExitCode> Cost(Context& context, const CostOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::GetCostsRequest request;
  ASSAY_ASSIGN_OR_RETURN(*request.mutable_filter(), CompleteFilter(client, options.query));
  ASSAY_ASSIGN_OR_RETURN(const v1::GetCostsResponse costs,
                         client.Call(&v1::AnalysisService::Stub::GetCosts, request));
  if (options.format == OutputFormat::kJson) {
    Print(MessageJson(costs) + "\n");
  } else if (options.format == OutputFormat::kCsv) {
    Print(CostsCsv(costs));
  } else if (!costs.rows().empty()) {
    Print(CostsTable(costs, StyleOf(STDOUT_FILENO)));
  } else if (costs.unpriced_runs() > 0) {
    PrintError("None of the " + Counted(costs.unpriced_runs(), "run") +
               " has a price. Start agents with their node's price: assay-agent --price DOLLARS\n");
  } else {
    ExplainNoMatch(client, options.query);
  }
  return kExitDone;
}

}  // namespace

void AddCostCommand(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("cost", "Compare what cases cost at each provider");
  command->footer(
      "$/H is the price of the GPUs or nodes that the case needs: a GPU's part of its node's "
      "price. "
      "$ PER RATE is the price of an hour of work at one PFLOP/s or TB/s, from the median of the "
      "runs. Each case is compared across providers and hardware.");
  auto options = std::make_shared<CostOptions>();
  AddRangeOptions(*command, options->query);
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, Cost);
}

}  // namespace assay::cli
