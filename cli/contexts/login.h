// Logs a user in to a fleet and out of it.
#pragma once

#include <string>

#include "cli/contexts/context_file.h"
#include "common/status.h"
#include "identity/enrolled.h"

namespace assay::cli {

// Returns HOST of "https://HOST:PORT".
Result<std::string> HostOfUrl(const std::string& url);

// Enrols a key of this user with a fleet, and stores the identity in identities/NAME under
// `folder`. Makes NAME the current context, replacing any existing context of that name. If
// `coordinator` is not empty, the context uses it instead of the addresses in the identity. If the
// response was lost, call this again with the same token. Returns the same errors as
// identity::Join.
Result<identity::Enrolled> Login(const std::string& folder, const std::string& name,
                                 const identity::JoinPoint& join, const std::string& token,
                                 const std::string& coordinator);

// Removes a context, along with its identity if that is stored in `folder`. Returns true if the
// context was the current one, which leaves no current context.
Result<bool> Logout(const std::string& folder, const std::string& name);

}  // namespace assay::cli
