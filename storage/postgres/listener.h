// Receives PostgreSQL's notifications.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "common/subprocess.h"

namespace assay::storage {

// A thread that listens for PostgreSQL notifications on its own connection. Calls `callback` after
// each batch of notifications and each time it connects, because it may have missed some before
// that. If the connection is lost, reconnects after a delay of 0.1 s to 5 s. The destructor stops
// the thread promptly, even if the server hangs.
class Listener {
 public:
  Listener(std::string conninfo, std::string channel, std::function<void()> callback);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  using Time = std::chrono::steady_clock::time_point;

  void Loop();
  // Connects and listens until the connection fails or the destructor is called. Returns whether
  // the connection was established.
  bool ListenOnce();
  // Waits until `deadline` for one of the poll(2) events `wanted` on `fd`. If `fd` is -1, just
  // waits until the deadline. Returns true if the destructor has been called, which ends the wait
  // early.
  bool StopsBefore(int fd, short wanted, Time deadline);

  const std::string conninfo_;
  const std::string channel_;
  const std::function<void()> callback_;
  FileDescriptor stop_;  // An eventfd that destruction makes readable.
  std::thread thread_;
};

}  // namespace assay::storage
