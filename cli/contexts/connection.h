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

// Chooses how to connect to a fleet, based on the given options and the user's contexts in
// `folder`. A context is the stored configuration for one fleet. A given coordinator or TLS file
// overrides that of the context. If a coordinator is given but no context, ignores the current
// context, because its certificate is for another fleet. Renews the context's certificate if
// necessary.
Result<Connection> ChooseConnection(const GivenConnection& given, const std::string& folder);

// Returns the identity in `folder`. If its certificate has less than a third of its lifetime left,
// renews it first. If the renewal fails, keeps the old certificate as long as that is still valid.
// Several programs may call this for the same folder at once.
Result<identity::Enrolled> LoadAndRenew(const std::string& folder, WallTime now);

}  // namespace assay::cli
