// LISTEN on a connection and a thread of its own.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "common/status.h"
#include "common/subprocess.h"

namespace assay::storage {

// Calls back for each batch of notifications, and once after each connection is
// made, since some may have been missed before. Reconnects for ever, after 0.1 s
// at first and 5 s at most. Destruction ends the thread at once.
class Listener {
 public:
  Listener(std::string conninfo, std::string channel, std::function<void()> callback);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  void Loop();
  // Until the connection fails or destruction begins; true if it ever listened.
  bool ListenOnce();
  // True if destruction began before `timeout_ms` passed (-1: waits for ever) or
  // `fd` (-1: none) became readable.
  bool StopsBefore(int fd, int timeout_ms);

  const std::string conninfo_;
  const std::string channel_;
  const std::function<void()> callback_;
  FileDescriptor stop_;  // An eventfd, readable once destruction began.
  std::thread thread_;
};

}  // namespace assay::storage
