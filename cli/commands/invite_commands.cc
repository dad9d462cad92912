// Implements the commands that manage who may join a fleet:
//
//   assay node invite, invites, revoke, ban, unban, identities, attempts
//   assay user invite, list, remove, ban, unban
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/app.h"
#include "cli/commands/invites.h"
#include "cli/commands/pages.h"
#include "cli/views/format.h"
#include "cli/views/identity_view.h"
#include "common/text.h"
#include "common/units.h"
#include "wire/durations.h"
#include "wire/node_labels.h"
#include "wire/timestamps.h"

namespace assay::cli {
namespace {

struct InviteOptions {
  v1::InviteScope scope;
  std::vector<std::string> labels;
  std::optional<double> price;
  std::string lifetime;
  std::string expires;
  OutputFormat format = OutputFormat::kTable;
};

struct IdentityOptions {
  std::string name;
  std::string reason;
  OutputFormat format = OutputFormat::kTable;
};

// Parses the end of an identity: a duration from now, or a time in UTC.
Result<WallTime> ParseEnd(const std::string& text) {
  if (const Result<Duration> age = ParseDuration(text); age.ok()) {
    return Clock::Real().WallNow() + *age;
  }
  const Result<WallTime> time = schema::ParseTime(text);
  if (time.ok()) return time;
  return InvalidArgument("--expires: " + Quote(text) +
                         " is neither a duration such as 12h or 30d nor a time in UTC such as "
                         "2026-12-31T18:00");
}

Result<ExitCode> Invite(Context& context, const InviteOptions& options) {
  v1::CreateInviteRequest request;
  *request.mutable_scope() = options.scope;
  ASSAY_RETURN_IF_ERROR(AddLabels(options.labels, *request.mutable_scope()));
  if (options.price) request.mutable_scope()->set_price_per_hour(*options.price);
  if (!options.lifetime.empty()) {
    const Result<Duration> lifetime = ParseDuration(options.lifetime);
    if (!lifetime.ok()) return lifetime.status().WithContext("--ttl");
    *request.mutable_lifetime() = ToProto(*lifetime);
  }
  if (!options.expires.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const WallTime end, ParseEnd(options.expires));
    *request.mutable_scope()->mutable_identity_expire_time() = schema::ToTimestamp(end);
  }
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  ASSAY_ASSIGN_OR_RETURN(const v1::CreateInviteResponse response, CreateInvite(client, request));
  if (options.format == OutputFormat::kJson) {
    Print(ToJson(response) + "\n");
    return kExitDone;
  }
  const v1::Invite& invite = response.invite();
  if (options.format == OutputFormat::kCsv) {
    Print(CsvRecord({"invite_id", "role", "name", "expire_time", "token", "command"}) +
          CsvRecord({invite.invite_id(), invite.scope().role(), invite.scope().name(),
                     FormatTimeExact(invite.expire_time()), response.token(), response.command()}));
    return kExitDone;
  }
  // Print only the command line to stdout, so that it can be piped.
  const int width = StyleOf(STDERR_FILENO).width;
  const bool node = invite.scope().role() == "node";
  PrintError(Wrap(InviteText(invite), width, 0) + "\n" +
             (node ? "Paste this line on the node:\n\n" : "The user runs this line:\n\n"));
  Print(response.command() + "\n");
  if (!response.wget_command().empty()) {
    PrintError("\nWithout curl, this one:\n\n" + response.wget_command() + "\n");
  }
  PrintError(
      "\n" +
      Wrap("Whoever has the line can join with it, once. To withdraw it: assay node revoke " +
               Sanitize(invite.invite_id()),
           width, 0) +
      "\n");
  return kExitDone;
}

Result<ExitCode> ListInvites(Context& context, const IdentityOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  const Result<v1::ListInvitesResponse> response =
      client.Call(&v1::IdentityService::Stub::ListInvites, v1::ListInvitesRequest());
  if (!response.ok()) return WithCure(response.status());
  const std::vector<v1::Invite> invites(response->invites().begin(), response->invites().end());
  const WallTime now = Clock::Real().WallNow();
  if (options.format == OutputFormat::kJson) {
    Print(ToJsonArray(invites));
  } else if (options.format == OutputFormat::kCsv) {
    Print(InvitesCsv(invites, now));
  } else if (invites.empty()) {
    PrintError("No invites. Make one: assay node invite, or assay user invite NAME --role ROLE\n");
  } else {
    Print(InvitesText(invites, now, StyleOf(STDOUT_FILENO)));
  }
  return kExitDone;
}

Result<ExitCode> Revoke(Context& context, const IdentityOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  ASSAY_RETURN_IF_ERROR(RevokeInvite(client, options.name));
  Print("Revoked invite " + Sanitize(options.name) +
        ". A node or user that has used it stays; to refuse it: assay node ban NAME\n");
  return kExitDone;
}

Result<ExitCode> Ban(Context& context, const IdentityOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::BanIdentityRequest request;
  request.set_identity(options.name);
  request.set_reason(options.reason);
  const Result<v1::BanIdentityResponse> response =
      client.Call(&v1::IdentityService::Stub::BanIdentity, request);
  if (!response.ok()) return WithCure(response.status());
  const v1::EnrolledIdentity& identity = response->identity();
  const bool node = identity.role() == "node";
  const std::string name = Sanitize(identity.name());
  Print(Wrap("Banned " + std::string(node ? "node " : "user ") + name +
                 ": its calls are refused, and its connections close within 5 s. To end the ban: "
                 "assay " +
                 (node ? "node" : "user") + " unban " + name,
             StyleOf(STDOUT_FILENO).width, 2) +
        "\n");
  return kExitDone;
}

Result<ExitCode> Unban(Context& context, const IdentityOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::UnbanIdentityRequest request;
  request.set_identity(options.name);
  const Result<v1::UnbanIdentityResponse> response =
      client.Call(&v1::IdentityService::Stub::UnbanIdentity, request);
  if (!response.ok()) return WithCure(response.status());
  const v1::EnrolledIdentity& identity = response->identity();
  Print((identity.role() == "node" ? "Node " : "User ") + Sanitize(identity.name()) +
        " is no longer banned.\n");
  return kExitDone;
}

Result<ExitCode> ListAttempts(Context& context, const IdentityOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  const Result<v1::ListAttemptsResponse> response =
      client.Call(&v1::IdentityService::Stub::ListAttempts, v1::ListAttemptsRequest());
  if (!response.ok()) return WithCure(response.status());
  const std::vector<v1::EnrolmentAttempt> attempts(response->attempts().begin(),
                                                   response->attempts().end());
  if (options.format == OutputFormat::kJson) {
    Print(ToJsonArray(attempts));
  } else if (options.format == OutputFormat::kCsv) {
    Print(AttemptsCsv(attempts));
  } else if (attempts.empty()) {
    PrintError("No attempt was refused.\n");
  } else {
    Print(AttemptsText(attempts, StyleOf(STDOUT_FILENO)));
  }
  return kExitDone;
}

ExitCode PrintIdentities(const std::vector<v1::EnrolledIdentity>& identities, OutputFormat format,
                         const std::string& none) {
  const WallTime now = Clock::Real().WallNow();
  if (format == OutputFormat::kJson) {
    Print(ToJsonArray(identities));
  } else if (format == OutputFormat::kCsv) {
    Print(IdentitiesCsv(identities, now));
  } else if (identities.empty()) {
    PrintError(none);
  } else {
    Print(IdentitiesText(identities, now, StyleOf(STDOUT_FILENO)));
  }
  return kExitDone;
}

Result<ExitCode> ListNodeIdentities(Context& context, const IdentityOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  ASSAY_ASSIGN_OR_RETURN(const auto nodes, FetchIdentities(client, "node"));
  return PrintIdentities(nodes, options.format,
                         "No node has joined with an invite yet. Make one: assay node invite\n");
}

Result<ExitCode> ListUsers(Context& context, const IdentityOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  ASSAY_ASSIGN_OR_RETURN(auto users, FetchIdentities(client, ""));
  std::erase_if(users, [](const v1::EnrolledIdentity& one) { return one.role() == "node"; });
  return PrintIdentities(users, options.format,
                         "No users yet. Invite one: assay user invite NAME --role ROLE\n");
}

Result<ExitCode> RemoveUser(Context& context, const IdentityOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  // Look up the identity first, so that the client switches to a coordinator that responds. The
  // client cannot retry RemoveIdentity on another coordinator: if a call that seemed to fail had
  // actually succeeded, the retry would fail.
  ASSAY_ASSIGN_OR_RETURN(const auto all, FetchIdentities(client, ""));
  for (const v1::EnrolledIdentity& one : all) {
    if (one.name() == options.name && one.role() == "node") {
      return InvalidArgument(Quote(options.name) + " is a node, not a user")
          .WithHint("assay node remove " + options.name);
    }
  }
  ASSAY_RETURN_IF_ERROR(RemoveIdentity(client, options.name));
  Print("Removed user " + Sanitize(options.name) +
        ": its calls are refused, and the name is free for another invite.\n");
  return kExitDone;
}

void AddInviteOptions(CLI::App& command, InviteOptions& options) {
  command
      .add_option("--ttl", options.lifetime,
                  "Time for which the invite can be used: 1m to 7d (default 30m)")
      ->type_name("DURATION")
      ->check(NotEmpty());
  command
      .add_option("--expires", options.expires,
                  "When the enrolment ends: a duration from now such as 30d, or a time in UTC such "
                  "as 2026-12-31T18:00 (default: never)")
      ->type_name("WHEN")
      ->check(NotEmpty());
  AddOutputOption(command, options.format);
}

void AddBanCommands(CLI::App& parent, Context& context, const std::string& whom) {
  CLI::App* ban = parent.add_subcommand(
      "ban", "Refuse a " + whom + " from now on and close its connections within 5 s");
  auto ban_options = std::make_shared<IdentityOptions>();
  ban->add_option("name", ban_options->name, "Id or name")->required()->check(NotEmpty());
  ban->add_option("--reason", ban_options->reason, "Why, for those who wonder");
  OnRun(*ban, context, ban_options, Ban);

  CLI::App* unban = parent.add_subcommand("unban", "End the ban of a " + whom);
  auto unban_options = std::make_shared<IdentityOptions>();
  unban->add_option("name", unban_options->name, "Id or name")->required()->check(NotEmpty());
  OnRun(*unban, context, unban_options, Unban);
}

}  // namespace

Result<std::vector<v1::EnrolledIdentity>> FetchIdentities(Client& client, const std::string& role) {
  v1::ListIdentitiesRequest request;
  request.set_role(role);
  auto all = CollectPages(client, &v1::IdentityService::Stub::ListIdentities, request);
  if (!all.ok()) return WithCure(all.status());
  return all;
}

void AddInviteCommands(CLI::App& node, Context& context) {
  CLI::App* invite = node.add_subcommand("invite", "Print the line that adds a machine as a node");
  auto invite_options = std::make_shared<InviteOptions>();
  v1::InviteScope& scope = invite_options->scope;
  scope.set_role("node");
  invite
      ->add_option_function<std::string>(
          "--name", [&scope](const std::string& name) { scope.set_name(name); },
          "Name of the node (default: its host name, with a number if that is taken)")
      ->check(NotEmpty());
  invite
      ->add_option("--label", invite_options->labels,
                   "KEY=VALUE, a label of the node; may be "
                   "repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  invite->add_option_function<std::string>(
      "--provider", [&scope](const std::string& provider) { scope.set_provider(provider); },
      "Who rents the node out (default: what the node finds out)");
  invite->add_option("--price", invite_options->price, "US dollars an hour for the whole node")
      ->check(NumberWithin(0, schema::kMaxPricePerHour));
  invite->add_flag_function(
      "--ephemeral", [&scope](int64_t count) { scope.set_ephemeral(count > 0); },
      "The node leaves the list after an hour's absence");
  AddInviteOptions(*invite, *invite_options);
  invite->footer(
      "The line downloads the node's programs from the coordinator, checks them, makes a key that "
      "never leaves the node, and starts an agent. More options may follow the line, such as "
      "--detach. It can be used once. The line goes to stdout and the explanation to stderr.");
  OnRun(*invite, context, invite_options, Invite);

  CLI::App* invites = node.add_subcommand("invites", "List invites of nodes and users");
  auto invites_options = std::make_shared<IdentityOptions>();
  AddOutputOption(*invites, invites_options->format);
  OnRun(*invites, context, invites_options, ListInvites);

  CLI::App* revoke = node.add_subcommand("revoke", "Withdraw an invite of a node or user");
  auto revoke_options = std::make_shared<IdentityOptions>();
  revoke->add_option("invite", revoke_options->name, "Id of the invite")
      ->required()
      ->check(NotEmpty());
  OnRun(*revoke, context, revoke_options, Revoke);

  AddBanCommands(node, context, "node");

  CLI::App* identities =
      node.add_subcommand("identities", "List nodes that joined with invites, and their bans");
  auto identities_options = std::make_shared<IdentityOptions>();
  AddOutputOption(*identities, identities_options->format);
  identities->footer(
      "STATE is enrolled, banned, absent if the certificate was not renewed, or ended if the "
      "enrolment has ended.");
  OnRun(*identities, context, identities_options, ListNodeIdentities);

  CLI::App* attempts =
      node.add_subcommand("attempts", "List refused attempts to join or to renew a certificate");
  auto attempts_options = std::make_shared<IdentityOptions>();
  AddOutputOption(*attempts, attempts_options->format);
  OnRun(*attempts, context, attempts_options, ListAttempts);
}

void AddUserCommands(CLI::App& app, Context& context) {
  CLI::App* user = app.add_subcommand("user", "The people who use the fleet");
  user->require_subcommand(1);

  CLI::App* invite = user->add_subcommand("invite", "Print the line with which a user logs in");
  auto invite_options = std::make_shared<InviteOptions>();
  v1::InviteScope& scope = invite_options->scope;
  invite
      ->add_option_function<std::string>(
          "name", [&scope](const std::string& name) { scope.set_name(name); }, "Name of the user")
      ->required();
  invite
      ->add_option_function<std::string>(
          "--role", [&scope](const std::string& role) { scope.set_role(role); },
          "viewer, submitter, operator or admin; each may do what those before it may")
      ->required()
      ->type_name("ROLE")
      ->check(CLI::IsMember({"viewer", "submitter", "operator", "admin"}));
  AddInviteOptions(*invite, *invite_options);
  OnRun(*invite, context, invite_options, Invite);

  CLI::App* list = user->add_subcommand("list", "List users");
  auto list_options = std::make_shared<IdentityOptions>();
  AddOutputOption(*list, list_options->format);
  OnRun(*list, context, list_options, ListUsers);

  CLI::App* remove =
      user->add_subcommand("remove", "End a user's enrolment; the name is free for another invite");
  auto remove_options = std::make_shared<IdentityOptions>();
  remove->add_option("name", remove_options->name, "Name of the user")
      ->required()
      ->check(NotEmpty());
  OnRun(*remove, context, remove_options, RemoveUser);

  AddBanCommands(*user, context, "user");
}

}  // namespace assay::cli
