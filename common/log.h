// The program's log: lines on stderr with UTC time, level, program and message.
#pragma once

#include <spdlog/spdlog.h>

#include <string>
#include <string_view>

#include "common/status.h"

namespace assay {

// Returns the program's logger. Example: Log().info("job {} assigned to {}", job, node).
// Thread-safe. Messages may contain text from other machines: control characters are replaced, so
// every message stays on one line. Never log secrets, such as keys, tokens, connection strings or
// entire environments.
spdlog::logger& Log();

// Sets up logging. Call this once, at the start of main(). `program` appears in every line.
// Messages below `level` ("debug", "info", "warn" or "error") are dropped.
Status InitLog(std::string program, std::string_view level);

}  // namespace assay
