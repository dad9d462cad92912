// The program's log: lines on stderr, UTC time, level, program, message.
#pragma once

#include <spdlog/spdlog.h>

#include <string>
#include <string_view>

#include "common/status.h"

namespace assay {

// Log().info("job {} assigned to {}", job, node). Thread-safe. Never log secrets:
// no key material, tokens, connection strings or environment dumps.
spdlog::logger& Log();

// Names the program in every line and sets the least level that is written:
// "debug", "info", "warn" or "error". Call once, first thing in main.
Status InitLog(std::string program, std::string_view level);

}  // namespace assay
