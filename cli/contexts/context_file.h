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
  // HOST:PORT, or several separated by commas. May be empty if there is an identity, which knows
  // the coordinators of its fleet.
  std::string coordinator;
  // The folder of an enrolled user (identity/enrolled.h). Empty if there is none. A context has an
  // identity or TLS files, not both. Relative paths start at the folder of the contexts.
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

// Changes the contexts in `folder`, which is made if it does not exist. Several programs may do
// this at once. Does not store anything if `change` returns an error.
Status ChangeContexts(const std::string& folder,
                      const std::function<Status(ContextFile& file)>& change);

// Returns NOT_FOUND with the names that exist, unless the file has the context.
Result<FleetContext> FindContext(const ContextFile& file, const std::string& name);

}  // namespace assay::cli
