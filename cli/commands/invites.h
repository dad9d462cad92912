// Calls of IdentityService that several commands make. Their errors name options of the command
// line, and the cure if the coordinator has no authority.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/identity_service.pb.h"
#include "cli/commands/client.h"
#include "common/status.h"

namespace assay::cli {

// Adds the hint of NO_AUTHORITY to such an error. Returns other errors unchanged.
Status WithCure(const Status& status);

// Adds labels, each "KEY=VALUE", to the scope.
Status AddLabels(const std::vector<std::string>& labels, v1::InviteScope& scope);

Result<v1::CreateInviteResponse> CreateInvite(Client& client,
                                              const v1::CreateInviteRequest& request);
Status RevokeInvite(Client& client, const std::string& invite_id);
// Removes a node's or user's identity by its id or name.
Status RemoveIdentity(Client& client, const std::string& identity);

}  // namespace assay::cli
