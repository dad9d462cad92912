// Ends database calls that take too long.
#pragma once

#include <chrono>
#include <set>
#include <thread>

#include "common/mutex.h"

namespace assay::storage {

// A thread that shuts down the sockets of database calls that have exceeded their deadlines. Such
// calls then fail as if the server had closed the connection. TCP timeouts cannot end a call to a
// suspended server process, because the server's kernel keeps acknowledging packets. Thread-safe.
class Watchdog {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Watchdog();
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // A call in progress. The socket must stay open during its lifetime.
  class Watch {
   public:
    Watch(Watchdog& watchdog, int socket, Time deadline);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // Returns true if the socket has been shut down.
    bool Ended() const;

   private:
    friend class Watchdog;
    void End();

    Watchdog& watchdog_;
    const int socket_;
    const Time deadline_;
    bool ended_ = false;  // Guarded by watchdog_.mutex_.
  };

  // Shuts down the sockets of all calls, present and future.
  void Abort();

 private:
  void Loop();

  Mutex mutex_;
  CondVar changed_;
  std::set<Watch*> watches_ ASSAY_GUARDED_BY(mutex_);
  Time next_look_ ASSAY_GUARDED_BY(mutex_) = Time::max();
  bool aborted_ ASSAY_GUARDED_BY(mutex_) = false;
  bool stopping_ ASSAY_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace assay::storage
