// Contexts: the fleets that a user works with, and how to reach each one. They are kept in
// ~/.config/assay/config, which people may edit:
//
//   current: gpu.example.com
//   contexts:
//     gpu.example.com:
//       identity: identities/gpu.example.com
//     lab:
//       coordinator: 10.0.0.1:7900
//       tls-ca: /etc/assay/ca.pem
//       tls-cert: /etc/assay/ann.pem
//       tls-key: /etc/assay/ann.key
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "common/status.h"
#include "wire/credentials.h"

namespace assay::cli {

// Addresses and files with which to reach a fleet.
struct FleetContext {
  // HOST:PORT, or several separated by commas. May be empty if `identity` is set, because the
  // identity contains the addresses of the fleet's coordinators.
  std::string coordinator;
  // The folder with the identity of an enrolled user (see identity/enrolled.h). Empty if there is
  // none. A context has either an identity or TLS files. Relative paths are relative to the folder
  // of the contexts.
  std::string identity;
  rpc::TlsFiles tls;
};

struct ContextFile {
  std::string current;  // Name of a context; empty for none.
  std::map<std::string, FleetContext> contexts;
};

// Returns an error unless `name` can name a context: 1 to 100 letters, digits and "._-:@", the
// first of which is a letter or digit.
Status CheckContextName(const std::string& name);

// Parses the text of a file named `path`. Returns INVALID_ARGUMENT with one violation per mistake.
Result<ContextFile> ParseContextFile(std::string_view text, const std::string& path);
std::string ContextFileText(const ContextFile& file);

// Returns $XDG_CONFIG_HOME/assay or ~/.config/assay. Empty if this user has no home.
std::string ContextFolder();

// Reads the contexts in `folder`. Returns none if there is no file.
Result<ContextFile> LoadContexts(const std::string& folder);

// Changes the contexts in `folder`, and creates the folder if it does not exist. Several programs
// may call this at once. If `change` returns an error, stores nothing and returns the error.
Status ChangeContexts(const std::string& folder,
                      const std::function<Status(ContextFile& file)>& change);

// Returns the context with this name. If it does not exist, returns NOT_FOUND, and the error lists
// the names that exist.
Result<FleetContext> FindContext(const ContextFile& file, const std::string& name);

}  // namespace assay::cli
