// assay outliers
#include <unistd.h>

#include <memory>
#include <string>

#include "cli/commands/app.h"
#include "cli/views/case_text.h"
#include "cli/views/message_json.h"
#include "cli/views/outliers_view.h"
#include "common/text.h"

namespace assay::cli {
namespace {

struct OutliersOptions {
  std::string node;
  bool simulated = false;
  OutputFormat format = OutputFormat::kTable;
};

void PrintText(const v1::ListOutliersResponse& found, const OutliersOptions& options) {
  if (!found.has_judged_until() && found.outliers().empty()) {
    PrintError(
        "No results were judged yet. A place is compared with others of the same hardware and "
        "driver once six of them have run the same case twice.\n");
    return;
  }
  if (found.outliers().empty()) {
    PrintError(options.node.empty() ? "No outliers.\n"
                                    : "No outliers on node " + Sanitize(options.node) + ".\n");
  }
  Print(OutliersText(found, !options.node.empty(), StyleOf(STDOUT_FILENO)));
}

Result<ExitCode> Outliers(Context& context, const OutliersOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::ListOutliersRequest request;
  request.set_node_name(options.node);
  request.set_simulated(options.simulated);
  ASSAY_ASSIGN_OR_RETURN(const v1::ListOutliersResponse found,
                         client.Call(&v1::AnalysisService::Stub::ListOutliers, request));
  if (options.format == OutputFormat::kJson) {
    Print(MessageJson(found) + "\n");
  } else if (options.format == OutputFormat::kCsv) {
    Print(OutliersCsv(found));
  } else {
    PrintText(found, options);
  }
  return kExitDone;
}

}  // namespace

void AddOutliersCommand(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "outliers", "List GPUs that differ from others of the same hardware and driver");
  command->footer(
      "VS PEERS is the performance over the median of the peers, so a minus means slower. RANK "
      "counts from the fastest. KIND is implausible if a place is so much faster than its peers "
      "that the measurement is doubtful. HINT is power-limited if the place is as efficient at its "
      "clock as its peers. With --node, each case is listed.");
  auto options = std::make_shared<OutliersOptions>();
  command->add_option("--node", options->node, "Only on this node, with each case")
      ->check(NotEmpty());
  command->add_flag("--simulated", options->simulated, "Of simulated nodes instead of real ones");
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, Outliers);
}

}  // namespace assay::cli
