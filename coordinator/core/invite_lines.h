// Lines to paste for joining with an invite.
#pragma once

#include <string>

#include "assay/v1/identity_service.pb.h"

namespace assay::coordinator {

// The join listener of a coordinator, as those who join know it.
struct JoinAddress {
  std::string url;        // "https://HOST:PORT"
  std::string pin;        // See Authority::ServerPin.
  std::string authority;  // The authority's certificate in PEM.
};

// Fills `command` and `wget_command` of a response that has the invite and its token.
void AddCommands(const JoinAddress& join, v1::CreateInviteResponse& response);

}  // namespace assay::coordinator
