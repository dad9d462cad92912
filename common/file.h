// Functions that read files and make folders.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/status.h"

namespace assay {

// Returns the content of a file. If the file cannot be read or exceeds `most` bytes, returns an
// error with the path and the reason.
Result<std::string> ReadFile(const std::string& path, size_t most = SIZE_MAX);

// Returns the first line of a file; empty if it cannot be read.
std::string FirstLineOf(const std::string& path);

// Reads the number at the start of a file. Returns nullopt if the file cannot be read or does not
// start with a number. For example, Linux cgroup files may contain "max" to indicate no limit.
std::optional<int64_t> NumberIn(const std::string& path);

// Returns the number after `name` in a file with lines "name number ...", or nullopt.
std::optional<int64_t> NumberOf(const std::string& name, const std::string& path);

// Creates a folder and any missing parent folders. By default, only the owner can access the new
// folder. Does not change the mode of an existing folder. Errors include the path and the reason.
Status MakePrivateFolder(const std::string& path, mode_t mode = 0700);

// Makes the entries of a folder durable. Without this, a file just created or renamed in the folder
// may be missing after a power failure. Errors include the path and the reason.
Status SyncFolder(const std::string& path);

}  // namespace assay
