// A server's report to the process that started it: one line of JSON on the descriptor given by
// --ready-fd. The line has the addresses of the server, or the error that prevented its start.
#pragma once

#include <string>

#include "common/status.h"

namespace assay {

// Writes `line` and a newline to the descriptor `fd`, then closes it. The reader sees the line or,
// if the server ended before, the end of the file. No effect if `fd` is negative.
Status TellReady(int fd, const std::string& line);

// Writes the error that prevented the start in the same way.
Status TellFailed(int fd, const Status& error);

// The addresses of a server as HOST:PORT. `http` is empty if it does not serve HTTP.
struct ServedAddresses {
  std::string grpc;
  std::string http;
};

// Parses the line that the server wrote. Returns the error from TellFailed, or INTERNAL if the line
// is of neither function.
Result<ServedAddresses> ParseReadyLine(const std::string& line);

}  // namespace assay
