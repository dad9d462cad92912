// Lets a server tell its parent process that it has started, or why it could not. The server writes
// one line of JSON with its addresses or the error to the file descriptor given by the option
// --ready-fd.
#pragma once

#include <string>

#include "common/status.h"

namespace assay {

// Writes `line` and a newline to the file descriptor `fd`, then closes `fd`. Does nothing if `fd`
// is negative. If a server exits without calling this, its parent process reads end-of-file.
Status TellReady(int fd, const std::string& line);

// Writes the error that prevented the start in the same way.
Status TellFailed(int fd, const Status& error);

// The addresses of a server as HOST:PORT. `http` is empty if it does not serve HTTP.
struct ServedAddresses {
  std::string grpc;
  std::string http;
  std::string console;  // The URL of the coordinator's console; empty if there is none.
};

// Parses the line that a server wrote to its --ready-fd. Returns the error that the server
// reported, if any, or INTERNAL if the line is malformed.
Result<ServedAddresses> ParseReadyLine(const std::string& line);

}  // namespace assay
