// Functions that read files and make folders.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/status.h"

namespace assay {

// Returns the content of a file. Returns an error that names the path and the reason if the file
// cannot be read or has more than `most` bytes.
Result<std::string> ReadFile(const std::string& path, size_t most = SIZE_MAX);

// Returns the first line of a file; empty if it cannot be read.
std::string FirstLineOf(const std::string& path);

// Reads the number at the start of a file. Returns nullopt if the file cannot be read or does not
// start with a number. Linux control groups, for example, write "max" for "no limit".
std::optional<int64_t> NumberIn(const std::string& path);

// Returns the number after `name` in a file with lines "name number ...", or nullopt.
std::optional<int64_t> NumberOf(const std::string& name, const std::string& path);

// Makes a folder of this mode, which by default only its owner may enter, and the folders above it.
// A folder that exists keeps its mode. The error names the path and the reason.
Status MakePrivateFolder(const std::string& path, mode_t mode = 0700);

// Makes the entries of a folder durable. Without it, a file or folder that was just created or
// renamed there may be gone after a power failure. The error names the path and the reason.
Status SyncFolder(const std::string& path);

}  // namespace assay
