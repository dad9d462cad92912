// Tells the process that started a server where it serves, or why it does not: one line of
// JSON on the descriptor that --ready-fd names.
#pragma once

#include <string>

#include "common/status.h"

namespace assay {

// Writes `line` and a newline to descriptor `fd` and closes it, so that the reader sees either the
// line or the end. No effect if `fd` is negative.
Status TellReady(int fd, const std::string& line);

// Does the same with the error that ended the start.
Status TellFailed(int fd, const Status& error);

// Where a server serves: HOST:PORT. `http` is empty if it does not serve HTTP.
struct ServedAddresses {
  std::string grpc;
  std::string http;
};

// Parses a line of TellReady. The error is the one that TellFailed wrote, or INTERNAL for any
// other line.
Result<ServedAddresses> ParseReadyLine(const std::string& line);

}  // namespace assay
