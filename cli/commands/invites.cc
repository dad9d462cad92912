#include "cli/commands/invites.h"

#include <map>

#include "common/text.h"

namespace assay::cli {

Status WithCure(const Status& status) {
  if (status.reason() != Reason::kNoAuthority) return status;
  return status.WithHint(
      "start it with an authority: \"assay up --public HOST\", or \"assay-coordinator --ca "
      "FOLDER\"");
}

Status AddLabels(const std::vector<std::string>& labels, v1::InviteScope& scope) {
  for (const std::string& label : labels) {
    const size_t equals = label.find('=');
    if (equals == std::string::npos || equals == 0) {
      return InvalidArgument("label " + Quote(label) + " must be KEY=VALUE");
    }
    const auto added =
        scope.mutable_labels()->insert({label.substr(0, equals), label.substr(equals + 1)});
    if (!added.second) {
      return InvalidArgument("label " + Quote(label.substr(0, equals)) + " is given twice");
    }
  }
  return Status::Ok();
}

Result<v1::CreateInviteResponse> CreateInvite(Client& client,
                                              const v1::CreateInviteRequest& request) {
  Result<v1::CreateInviteResponse> response =
      client.Call(&v1::IdentityService::Stub::CreateInvite, request);
  if (response.ok()) return response;
  static const std::map<std::string, std::string> kOptions = {
      {"scope.name", "name"},
      {"scope.labels", "--label"},
      {"scope.provider", "--provider"},
      {"scope.price_per_hour", "--price"},
      {"scope.identity_expire_time", "--expires"},
      {"lifetime", "--ttl"}};
  std::vector<Violation> violations = response.status().violations();
  for (Violation& one : violations) {
    if (const auto option = kOptions.find(one.field); option != kOptions.end()) {
      one.field = option->second;
    }
  }
  if (violations.empty()) return WithCure(response.status());
  const Status& error = response.status();
  return Status(error.code(), error.reason(), "the invite cannot be made")
      .WithHint(error.hint())
      .WithViolations(violations);
}

Status RevokeInvite(Client& client, const std::string& invite_id) {
  v1::RevokeInviteRequest request;
  request.set_invite_id(invite_id);
  return WithCure(client.Call(&v1::IdentityService::Stub::RevokeInvite, request).status());
}

Status RemoveIdentity(Client& client, const std::string& identity) {
  v1::RemoveIdentityRequest request;
  request.set_identity(identity);
  return WithCure(client.Call(&v1::IdentityService::Stub::RemoveIdentity, request).status());
}

}  // namespace assay::cli
