// Files that only their owner may read. They appear whole or not at all.
#pragma once

#include <string>

#include "common/status.h"
#include "identity/openssl.h"

namespace assay::identity {

// Replaces the file, with mode 0600. After a crash it has the old content or the new one.
Status ReplacePrivateFile(const std::string& path, const std::string& content);

// Makes the file, with mode 0600, if it does not exist. Of several processes that do this at once,
// one makes the file. Returns its content, whoever made it.
Result<std::string> MakePrivateFile(const std::string& path, const std::string& content);

// Returns the content of a file with a private key. Returns FAILED_PRECONDITION if it belongs to
// another user or if others can read it.
Result<std::string> ReadKeyFile(const std::string& path);

// Returns the private key in the file, which is made with a new P-256 key if it does not exist.
Result<Key> LoadOrMakeKey(const std::string& path);

}  // namespace assay::identity
