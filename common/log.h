// The program's log: lines on stderr with UTC time, level, program and message.
#pragma once

#include <spdlog/spdlog.h>

#include <string>
#include <string_view>

#include "common/status.h"

namespace assay {

// Returns the program's logger, for example Log().info("job {} assigned to {}", job, node).
// Thread-safe. Every message is one line: its control characters are replaced, because it may have
// text of other machines. Never log secrets, such as keys, tokens, connection strings or whole
// environments.
spdlog::logger& Log();

// Sets up the log: `program` appears in every line, and `level` ("debug", "info", "warn" or
// "error") is the lowest level that is written. Call once, at the start of main().
Status InitLog(std::string program, std::string_view level);

}  // namespace assay
