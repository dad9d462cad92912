// Chooses the coordinator to call, and the certificate to use.
#pragma once

#include <string>

#include "cli/contexts/context_file.h"
#include "common/clock.h"
#include "common/status.h"
#include "identity/enrolled.h"

namespace assay::cli {

// The options for the connection that the user gave on the command line or in the environment.
struct GivenConnection {
  std::string context;      // Empty: the current context.
  std::string coordinator;  // Empty if not given.
  rpc::TlsFiles tls;
};

struct Connection {
  std::string coordinator;  // Empty: the default.
  rpc::TlsFiles tls;
};

// Combines the given options with the user's contexts in `folder`. A given coordinator or TLS file
// takes precedence over that of the context. If a coordinator is given without a context, does not
// use the current context, because its certificate belongs to another fleet. Renews the certificate
// of the context if necessary.
Result<Connection> ChooseConnection(const GivenConnection& given, const std::string& folder);

// Returns the identity in `folder`. First renews its certificate if less than a third of its life
// is left. If the renewal fails and the certificate is still valid, returns the identity with the
// old certificate. Several programs may call this for the same folder at once.
Result<identity::Enrolled> LoadAndRenew(const std::string& folder, WallTime now);

}  // namespace assay::cli
