// Listens to notifications of PostgreSQL.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "common/status.h"
#include "common/subprocess.h"

namespace assay::storage {

// Has its own connection and thread. Calls `callback` for each batch of notifications, and after
// each connection, because some may have been missed. Reconnects until destroyed, with delays from
// 0.1 s to 5 s. The destructor does not wait for the delay.
class Listener {
 public:
  Listener(std::string conninfo, std::string channel, std::function<void()> callback);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  void Loop();
  // Runs until the connection fails or destruction begins. True if it connected.
  bool ListenOnce();
  // Waits for `timeout_ms` (-1: no limit) or until `fd` (-1: none) is readable. True if destruction
  // began first.
  bool StopsBefore(int fd, int timeout_ms);

  const std::string conninfo_;
  const std::string channel_;
  const std::function<void()> callback_;
  FileDescriptor stop_;  // An eventfd that destruction makes readable.
  std::thread thread_;
};

}  // namespace assay::storage
