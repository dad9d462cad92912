// assay node list | show | add | remove
#include <unistd.h>

#include <memory>
#include <vector>

#include "cli/commands/app.h"
#include "cli/commands/fetch_results.h"
#include "cli/commands/invites.h"
#include "cli/commands/pages.h"
#include "cli/views/node_view.h"
#include "common/text.h"

namespace assay::cli {
namespace {

struct NodeListOptions {
  std::string filter;
  OutputFormat format = OutputFormat::kTable;
};

struct NodeShowOptions {
  std::string node;
  OutputFormat format = OutputFormat::kTable;
};

struct AddressOptions {
  std::string address;
};

Result<ExitCode> ListNodes(Context& context, const NodeListOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::ListNodesRequest request;
  request.set_filter(options.filter);
  const bool all = options.format != OutputFormat::kTable;
  request.set_view(all ? v1::NODE_VIEW_FULL : v1::NODE_VIEW_BASIC);
  ASSAY_ASSIGN_OR_RETURN(const auto nodes,
                         CollectPages(client, &v1::NodeService::Stub::ListNodes, request));
  if (options.format == OutputFormat::kJson) {
    Print(ToJsonArray(nodes));
  } else if (options.format == OutputFormat::kCsv) {
    Print(NodeCsv(nodes));
  } else if (!nodes.empty()) {
    Print(NodeTable(nodes).Render(StyleOf(STDOUT_FILENO)));
  } else {
    PrintError(options.filter.empty()
                   ? "No nodes yet. Invite one: assay node invite\nor, if the coordinator has no "
                     "authority, start an agent there: assay-agent --coordinator " +
                         client.addresses() + "\n"
                   : "No node matches the filter.\n");
  }
  return kExitDone;
}

// Returns the measurements between the node's GPUs, newest first.
Result<std::vector<v1::StoredResult>> TransfersOf(Client& client, const v1::Node& node) {
  if (node.description().inventory().gpus_size() < 2) return std::vector<v1::StoredResult>();
  constexpr int kEnough = 4096;  // Every pair of 16 GPUs in 16 ways.
  ResultsQuery query;
  query.filter =
      "benchmark = \"peer_transfer\" AND node = \"" + node.description().node_id() + "\"";
  query.limit = kEnough;
  return FetchResults(client, query);
}

Result<ExitCode> ShowNode(Context& context, const NodeShowOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::GetNodeRequest request;
  request.set_node(options.node);
  ASSAY_ASSIGN_OR_RETURN(const v1::GetNodeResponse response,
                         client.Call(&v1::NodeService::Stub::GetNode, request));
  switch (options.format) {
    case OutputFormat::kJson:
      Print(ToJson(response.node()) + "\n");
      break;
    case OutputFormat::kCsv:
      Print(NodeCsv({response.node()}));
      break;
    case OutputFormat::kTable: {
      ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::StoredResult> transfers,
                             TransfersOf(client, response.node()));
      Print(DescribeNode(response.node(), transfers, StyleOf(STDOUT_FILENO)));
      break;
    }
  }
  return kExitDone;
}

Result<ExitCode> Add(Context& context, const AddressOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::AddNodeRequest request;
  request.set_address(options.address);
  ASSAY_ASSIGN_OR_RETURN(const v1::AddNodeResponse response,
                         client.Call(&v1::NodeService::Stub::AddNode, request));
  const v1::Node& node = response.node();
  Print("Added node " + Sanitize(node.description().name()) + " at " + Sanitize(options.address) +
        ": " + HardwareOf(node.description().inventory()) + "\n");
  return kExitDone;
}

// Removes the identity of a node that was enrolled in the fleet but has never connected. Returns
// NOT_FOUND if there is no such identity.
Status RemoveUnattached(Client& client, const std::string& node) {
  ASSAY_ASSIGN_OR_RETURN(const auto identities, FetchIdentities(client, "node"));
  for (const v1::EnrolledIdentity& one : identities) {
    if (one.name() == node || one.identity_id() == node) {
      return RemoveIdentity(client, one.name());
    }
  }
  return NotFound("no such node");
}

Result<ExitCode> Remove(Context& context, const NodeShowOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  // Look up the node first, so that the client switches to a coordinator that responds. The client
  // cannot retry RemoveNode on another coordinator: if a call that seemed to fail had actually
  // succeeded, the retry would fail.
  v1::GetNodeRequest get;
  get.set_node(options.node);
  const Result<v1::GetNodeResponse> found = client.Call(&v1::NodeService::Stub::GetNode, get);
  if (found.ok()) {
    v1::RemoveNodeRequest request;
    request.set_node(found->node().description().node_id());
    ASSAY_RETURN_IF_ERROR(client.Call(&v1::NodeService::Stub::RemoveNode, request).status());
  } else if (found.status().code() != Code::kNotFound ||
             !RemoveUnattached(client, options.node).ok()) {
    return found.status();
  }
  Print("Removed node " + Sanitize(options.node) + "; its results stay.\n");
  return kExitDone;
}

}  // namespace

void AddNodeCommands(CLI::App& app, Context& context) {
  CLI::App* node = app.add_subcommand("node", "The machines of the fleet");
  node->require_subcommand(1);

  CLI::App* list = node->add_subcommand("list", "List nodes");
  auto list_options = std::make_shared<NodeListOptions>();
  list->add_option("--filter", list_options->filter,
                   "Only nodes that match, for example: gpu.model = \"H200\"");
  AddOutputOption(*list, list_options->format);
  OnRun(*list, context, list_options, ListNodes);

  CLI::App* show = node->add_subcommand("show", "Show a node's hardware, software and health");
  auto show_options = std::make_shared<NodeShowOptions>();
  show->add_option("node", show_options->node, "Id or name")->required();
  AddOutputOption(*show, show_options->format);
  OnRun(*show, context, show_options, ShowNode);

  CLI::App* add = node->add_subcommand("add", "Have the coordinator dial an agent");
  auto add_options = std::make_shared<AddressOptions>();
  add->add_option("address", add_options->address, "HOST:PORT of the agent's gRPC port")
      ->required();
  OnRun(*add, context, add_options, Add);

  CLI::App* remove = node->add_subcommand(
      "remove", "Forget a node and its identity; its results stay, and a ban too");
  auto remove_options = std::make_shared<NodeShowOptions>();
  remove->add_option("node", remove_options->node, "Id or name")->required();
  OnRun(*remove, context, remove_options, Remove);

  AddNodeOperations(*node, context);
  AddInviteCommands(*node, context);
}

}  // namespace assay::cli
