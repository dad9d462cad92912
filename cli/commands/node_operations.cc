// assay node cordon | uncordon | drain | label | price
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cli/commands/app.h"
#include "cli/commands/interrupt.h"
#include "cli/views/drain_progress.h"
#include "cli/views/format.h"
#include "cli/views/node_view.h"
#include "common/text.h"
#include "common/units.h"
#include "wire/durations.h"
#include "wire/node_labels.h"
#include "wire/timestamps.h"

namespace assay::cli {
namespace {

constexpr Duration kPollPeriod = std::chrono::seconds(1);
constexpr Duration kDrainPatience = std::chrono::seconds(60);

struct CordonOptions {
  std::string node;
  std::string reason;
  std::string deadline;
};

struct LabelOptions {
  std::string node;
  std::vector<std::string> changes;
};

struct PriceOptions {
  std::string node;
  double price = 0;
};

std::string NodeName(const v1::Node& node) { return Sanitize(node.description().name()); }

void PrintWrapped(const std::string& text) {
  Print(Wrap(text, StyleOf(STDOUT_FILENO).width, 2) + "\n");
}

Result<ExitCode> Cordon(Context& context, const CordonOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::CordonNodeRequest request;
  request.set_node(options.node);
  request.set_reason(options.reason);
  ASSAY_ASSIGN_OR_RETURN(const v1::CordonNodeResponse response,
                         client.Call(&v1::NodeService::Stub::CordonNode, request));
  const v1::Node& node = response.node();
  const int jobs = node.job_ids_size();
  PrintWrapped("Cordoned node " + NodeName(node) + ": it gets no new jobs" +
               (jobs == 0 ? "" : ", and " + Counted(jobs, "job goes on", "jobs go on")) +
               ". To end this: assay node uncordon " + NodeName(node));
  return kExitDone;
}

Result<ExitCode> Uncordon(Context& context, const CordonOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::UncordonNodeRequest request;
  request.set_node(options.node);
  ASSAY_ASSIGN_OR_RETURN(const v1::UncordonNodeResponse response,
                         client.Call(&v1::NodeService::Stub::UncordonNode, request));
  const v1::Node& node = response.node();
  std::string state = ": it gets jobs again";
  if (!node.quarantine().empty()) {
    state = "; it is quarantined, and gets jobs after a check of it passes";
  } else if (node.state() != v1::NODE_STATE_CONNECTED) {
    state = "; its agent is disconnected";
  }
  PrintWrapped("Node " + NodeName(node) + " is not cordoned" + state);
  return kExitDone;
}

// Waits until the node runs no job, and says what still runs.
Result<ExitCode> AwaitEmpty(Client& client, v1::Node node, Duration deadline,
                            Interrupt& interrupt) {
  const std::string name = NodeName(node);
  const std::string goes_on =
      "the drain goes on; to wait again, with a new deadline: assay node drain " + name +
      "; to end it: assay node uncordon " + name;
  const Clock& clock = Clock::Real();
  const MonotonicTime start = clock.Now();
  MonotonicTime last_answer = start;
  bool lost_connection = false;
  DrainProgress progress(deadline);
  v1::GetNodeRequest request;
  request.set_node(node.description().node_id());
  while (true) {
    const DrainProgress::Step step = progress.Apply(node, clock.Now() - start);
    if (step.end == DrainProgress::End::kEmpty) {
      PrintWrapped(step.line + ", and gets no jobs until: assay node uncordon " + name);
      return kExitDone;
    }
    if (step.end == DrainProgress::End::kFailed) {
      PrintError("assay: " + step.line + "\n");
      return kExitFailed;
    }
    if (!step.line.empty()) PrintError(step.line + "\n");
    if (interrupt.WaitFor(kPollPeriod)) {
      PrintError("Interrupted; " + goes_on + "\n");
      return interrupt.exit_code();
    }
    Result<v1::GetNodeResponse> response = client.Call(&v1::NodeService::Stub::GetNode, request);
    if (response.ok()) {
      node = response->node();
      last_answer = clock.Now();
      lost_connection = false;
      continue;
    }
    const bool unreachable = ExitCodeOf(response.status()) == kExitUnreachable;
    if (!unreachable) return response.status();
    if (clock.Now() - last_answer > kDrainPatience) return response.status().WithHint(goes_on);
    if (std::exchange(lost_connection, true)) continue;
    PrintError("Lost the connection to the coordinator; the drain goes on. Trying for 60 s ...\n");
  }
}

Result<ExitCode> DrainNode(Context& context, const CordonOptions& options) {
  std::optional<Duration> deadline;
  if (!options.deadline.empty()) {
    const Result<Duration> parsed = ParseDuration(options.deadline);
    if (!parsed.ok()) return parsed.status().WithContext("--deadline");
    deadline = *parsed;
  }
  // Must be created before the client starts threads.
  Interrupt interrupt;
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::DrainNodeRequest request;
  request.set_node(options.node);
  request.set_reason(options.reason);
  if (deadline) *request.mutable_deadline() = ToProto(*deadline);
  ASSAY_ASSIGN_OR_RETURN(const v1::DrainNodeResponse response,
                         client.Call(&v1::NodeService::Stub::DrainNode, request));
  const v1::Node& node = response.node();
  PrintWrapped("Draining node " + NodeName(node) +
               ": it gets no new jobs. Jobs that still run at " +
               FormatTime(node.cordon().drain_deadline()) +
               " are stopped and queued again, without spending a retry.");
  const Duration left =
      schema::FromTimestamp(node.cordon().drain_deadline()) - Clock::Real().WallNow();
  return AwaitEmpty(client, node, deadline.value_or(std::max(left, Duration(0))), interrupt);
}

// Adds "rack=7", which sets a label, or "rack-", which removes one.
Status AddLabelChange(const std::string& text, v1::UpdateNodeRequest* request) {
  const size_t equals = text.find('=');
  const bool removes = equals == std::string::npos && text.size() > 1 && text.back() == '-';
  if (equals == std::string::npos && !removes) {
    return InvalidArgument(Quote(text) + " changes no label; write KEY=VALUE to set one, or KEY- " +
                           "to remove it");
  }
  const std::string key = text.substr(0, removes ? text.size() - 1 : equals);
  const auto& removed = request->removed_labels();
  if (request->labels().contains(key) ||
      std::find(removed.begin(), removed.end(), key) != removed.end()) {
    return InvalidArgument("label " + Quote(key) + " is given twice");
  }
  if (removes) {
    request->add_removed_labels(key);
  } else {
    (*request->mutable_labels())[key] = text.substr(equals + 1);
  }
  return Status::Ok();
}

Result<ExitCode> Label(Context& context, const LabelOptions& options) {
  v1::UpdateNodeRequest request;
  request.set_node(options.node);
  for (const std::string& change : options.changes) {
    ASSAY_RETURN_IF_ERROR(AddLabelChange(change, &request));
  }
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  ASSAY_ASSIGN_OR_RETURN(const v1::UpdateNodeResponse response,
                         client.Call(&v1::NodeService::Stub::UpdateNode, request));
  const std::string labels = LabelText(response.node().description(), ", ");
  PrintWrapped("Labels of node " + NodeName(response.node()) + ": " +
               (labels.empty() ? "none" : Sanitize(labels)));
  return kExitDone;
}

Result<ExitCode> Price(Context& context, const PriceOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::UpdateNodeRequest request;
  request.set_node(options.node);
  request.set_price_per_hour(options.price);
  ASSAY_ASSIGN_OR_RETURN(const v1::UpdateNodeResponse response,
                         client.Call(&v1::NodeService::Stub::UpdateNode, request));
  PrintWrapped("Node " + NodeName(response.node()) + " costs " +
               HourlyPrice(response.node().description()) + " from now on; earlier results keep " +
               "their price.");
  return kExitDone;
}

}  // namespace

void AddNodeOperations(CLI::App& node, Context& context) {
  CLI::App* cordon = node.add_subcommand("cordon", "Keep new jobs off a node; running jobs go on");
  auto cordon_options = std::make_shared<CordonOptions>();
  cordon->add_option("node", cordon_options->node, "Id or name")->required();
  cordon->add_option("--reason", cordon_options->reason, "Why, for those who wonder");
  OnRun(*cordon, context, cordon_options, Cordon);

  CLI::App* uncordon = node.add_subcommand("uncordon", "Let a node get jobs again; ends a drain");
  auto uncordon_options = std::make_shared<CordonOptions>();
  uncordon->add_option("node", uncordon_options->node, "Id or name")->required();
  OnRun(*uncordon, context, uncordon_options, Uncordon);

  CLI::App* drain = node.add_subcommand("drain", "Cordon a node, and wait until it runs no job");
  auto drain_options = std::make_shared<CordonOptions>();
  drain->add_option("node", drain_options->node, "Id or name")->required();
  drain->add_option("--deadline", drain_options->deadline,
                    "Time until jobs that still run are stopped and queued again, at most 7 days "
                    "(default: that of a drain that goes on, else 30m)");
  drain->add_option("--reason", drain_options->reason, "Why, for those who wonder");
  drain->footer(
      "Exit status: 0 the node runs no job; 1 its agent was lost, someone ended the drain, or jobs "
      "still ran a minute after the deadline; 2 the command line is wrong; 3 the coordinator is "
      "unreachable, or was so for 60 s; 4 there is no such node; 130 or 143 SIGINT or SIGTERM "
      "ended "
      "the wait. After 3, 130 and 143, the drain goes on.");
  OnRun(*drain, context, drain_options, DrainNode);

  CLI::App* label = node.add_subcommand("label", "Set or remove labels of a node");
  auto label_options = std::make_shared<LabelOptions>();
  label->add_option("node", label_options->node, "Id or name")->required();
  label->add_option("changes", label_options->changes, "KEY=VALUE sets a label, KEY- removes it")
      ->required();
  label->footer(
      "They replace the labels that the agent was started with, for filters and for results that "
      "arrive afterwards.");
  OnRun(*label, context, label_options, Label);

  CLI::App* price = node.add_subcommand("price", "Set the price of a node");
  auto price_options = std::make_shared<PriceOptions>();
  price->add_option("node", price_options->node, "Id or name")->required();
  price->add_option("price", price_options->price, "US dollars an hour for the whole node")
      ->required()
      ->check(NumberWithin(0, schema::kMaxPricePerHour));
  price->footer(
      "It replaces the price that the agent was started with, for estimates and for results that "
      "arrive afterwards.");
  OnRun(*price, context, price_options, Price);
}

}  // namespace assay::cli
