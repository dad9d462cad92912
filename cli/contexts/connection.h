// Which coordinator to call, and with which certificate.
#pragma once

#include <string>

#include "cli/contexts/context_file.h"
#include "common/clock.h"
#include "common/status.h"
#include "identity/enrolled.h"

namespace assay::cli {

// Choices of the user on the command line or in the environment.
struct GivenConnection {
  std::string context;      // Empty: the current context.
  std::string coordinator;  // Empty if not given.
  rpc::TlsFiles tls;
};

struct Connection {
  std::string coordinator;  // Empty: the default.
  rpc::TlsFiles tls;
};

// Combines what was given with the contexts in `folder`. A given coordinator or TLS file wins over
// that of the context. The current context does not apply if a coordinator was given, because its
// certificate would be of no use there. Renews the certificate of the context if necessary.
Result<Connection> ChooseConnection(const GivenConnection& given, const std::string& folder);

// Returns the identity in a folder. Renews its certificate if less than a third of its life is
// left. If that fails and the certificate is still valid, returns the identity as it is. Several
// programs may do this at once.
Result<identity::Enrolled> LoadAndRenew(const std::string& folder, WallTime now);

}  // namespace assay::cli
