// Lets a server report to its parent process that it has started, or why it could not. The report
// is one line of JSON with the server's addresses or the error, written to the descriptor that the
// option --ready-fd names.
#pragma once

#include <string>

#include "common/status.h"

namespace assay {

// Writes `line` and a newline to descriptor `fd`, then closes it. Does nothing if `fd` is negative.
// The reader gets either the line or, if the server exits before, the end of the file.
Status TellReady(int fd, const std::string& line);

// Writes the error that prevented the start in the same way.
Status TellFailed(int fd, const Status& error);

// The addresses of a server as HOST:PORT. `http` is empty if it does not serve HTTP.
struct ServedAddresses {
  std::string grpc;
  std::string http;
};

// Parses the line that a server wrote to its --ready-fd. If it is from TellFailed(), returns that
// error. Returns INTERNAL for any other text.
Result<ServedAddresses> ParseReadyLine(const std::string& line);

}  // namespace assay
