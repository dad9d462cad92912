// Logging in to a fleet and out of it.
#pragma once

#include <string>

#include "cli/contexts/context_file.h"
#include "common/status.h"
#include "identity/enrolled.h"

namespace assay::cli {

// Returns HOST of "https://HOST:PORT".
Result<std::string> HostOfUrl(const std::string& url);

// Enrols a key of this user, stores it in identities/NAME of `folder` and makes NAME the current
// context, with `coordinator` unless that is empty. Replaces a context of this name. After a lost
// response, call it again with the same token. Has the errors of identity::Join.
Result<identity::Enrolled> Login(const std::string& folder, const std::string& name,
                                 const identity::JoinPoint& join, const std::string& token,
                                 const std::string& coordinator);

// Removes a context, with its identity if that is in `folder`. Returns true if the context was the
// current one; then there is none.
Result<bool> Logout(const std::string& folder, const std::string& name);

}  // namespace assay::cli
