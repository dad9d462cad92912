// Builds the command lines that a person pastes to join with an invite.
#pragma once

#include <string>

#include "assay/v1/identity_service.pb.h"

namespace assay::coordinator {

// The address of a coordinator's join listener, with the data by which nodes and users verify it.
struct JoinAddress {
  std::string url;        // "https://HOST:PORT"
  std::string pin;        // See Authority::ServerPin.
  std::string authority;  // The authority's certificate in PEM.
};

// Sets the response's `command` and `wget_command` fields to the command lines that use the invite.
// The response must already contain the invite and its token.
void AddCommands(const JoinAddress& join, v1::CreateInviteResponse& response);

}  // namespace assay::coordinator
