// Functions shared by several commands that call IdentityService. Their errors name command-line
// options instead of request fields. If the coordinator has no certificate authority, the error
// says how to start it with one.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/identity_service.pb.h"
#include "cli/commands/client.h"
#include "common/status.h"

namespace assay::cli {

// Adds a hint to an error with the reason NO_AUTHORITY, saying how to start a coordinator that has
// a certificate authority. Returns other errors unchanged.
Status WithCure(const Status& status);

// Adds labels, each "KEY=VALUE", to the scope.
Status AddLabels(const std::vector<std::string>& labels, v1::InviteScope& scope);

Result<v1::CreateInviteResponse> CreateInvite(Client& client,
                                              const v1::CreateInviteRequest& request);
Status RevokeInvite(Client& client, const std::string& invite_id);
// Returns the identities of one role, such as "node", or all identities if `role` is empty.
Result<std::vector<v1::EnrolledIdentity>> FetchIdentities(Client& client, const std::string& role);
// Removes a node's or user's identity by its id or name.
Status RemoveIdentity(Client& client, const std::string& identity);

}  // namespace assay::cli
