// Opens the data folder of `assay up`, which runs a fleet's programs on this machine:
//
//   postgres     the database
//   agent        the agent's state without --public
//   node         the agent's state with --public, because an enrolled node has another id
//   authority    the fleet's certificate authority, only with --public
//   log/*.log    one log per program
//   up.lock      a lock, held while `assay up` runs
#pragma once

#include <string>

#include "common/status.h"
#include "common/subprocess.h"

namespace assay::cli {

// A data folder that no other process uses.
struct DataFolder {
  std::string path;
  FileDescriptor lock;
};

Result<DataFolder> OpenDataFolder(const std::string& path);

// Returns the default data folder: $XDG_DATA_HOME/assay, or a folder in the user's home. For root,
// returns /var/lib/assay, because PostgreSQL refuses to run as root, and the account it uses
// instead has no access to root's home.
std::string DefaultDataDirectory();

}  // namespace assay::cli
