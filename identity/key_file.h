// Files that only their owner may read. They are created and replaced atomically.
#pragma once

#include <string>

#include "common/status.h"
#include "identity/openssl.h"

namespace assay::identity {

// Replaces the content of the file and sets its mode to 0600. After a crash, the file holds either
// the old or the new content.
Status ReplacePrivateFile(const std::string& path, const std::string& content);

// Creates the file with mode 0600 if it does not exist, and returns its content. If several
// processes do this at once, only one of them creates the file, and all return the same content.
Result<std::string> MakePrivateFile(const std::string& path, const std::string& content);

// Returns the content of a private key file. Returns FAILED_PRECONDITION if the file is owned by
// another user (except root) or if other users can access it.
Result<std::string> ReadKeyFile(const std::string& path);

// Returns the private key in the file. If the file does not exist, creates it with a new P-256 key.
Result<Key> LoadOrMakeKey(const std::string& path);

}  // namespace assay::identity
