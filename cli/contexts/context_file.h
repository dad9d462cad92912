// Reads and writes the user's contexts. A context says how to reach one fleet. Contexts are stored
// in the file ~/.config/assay/config, which users may edit:
//
//   current: lab
//   contexts:
//     gpu.example.com: {identity: identities/gpu.example.com}
//     lab: {coordinator: 10.0.0.1:7900, tls-ca: ca.pem, tls-cert: ann.pem, tls-key: ann.key}
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
  // The fleet's coordinators as HOST:PORT, separated by commas. May be empty if `identity` is set,
  // because the identity contains the addresses of the coordinators.
  std::string coordinator;
  // The folder with the user's identity in this fleet (see identity/enrolled.h), or empty. A
  // context cannot have both an identity and TLS files. Relative paths are relative to the
  // contexts' folder.
  std::string identity;
  rpc::TlsFiles tls;
};

struct ContextFile {
  std::string current;  // Name of a context; empty for none.
  std::map<std::string, FleetContext> contexts;
};

// Returns an error unless `name` is a valid context name: 1 to 100 letters, digits and "._-:@",
// beginning with a letter or digit.
Status CheckContextName(const std::string& name);

// Parses the text of a file named `path`. Returns INVALID_ARGUMENT with one violation per mistake.
Result<ContextFile> ParseContextFile(std::string_view text, const std::string& path);
std::string ContextFileText(const ContextFile& file);

// Returns $XDG_CONFIG_HOME/assay or ~/.config/assay. Empty if this user has no home.
std::string ContextFolder();

// Reads the contexts in `folder`. Returns none if there is no file.
Result<ContextFile> LoadContexts(const std::string& folder);

// Applies `change` to the contexts in `folder` and stores them, creating the folder if necessary.
// If `change` returns an error, stores nothing and returns the error. Several programs may call
// this at once.
Status ChangeContexts(const std::string& folder,
                      const std::function<Status(ContextFile& file)>& change);

// Returns the context with this name. If there is none, returns NOT_FOUND with a list of the
// existing names.
Result<FleetContext> FindContext(const ContextFile& file, const std::string& name);

}  // namespace assay::cli
