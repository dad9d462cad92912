#include "storage/postgres/watchdog.h"

#include <sys/socket.h>

#include <algorithm>

namespace assay::storage {

Watchdog::Watch::Watch(Watchdog& watchdog, int socket, Time deadline)
    : watchdog_(watchdog), socket_(socket), deadline_(deadline) {
  MutexLock lock(watchdog_.mutex_);
  watchdog_.watches_.insert(this);
  if (watchdog_.aborted_) End();
  // The thread wakes at least once per deadline, so most calls need not wake it.
  if (deadline_ < watchdog_.next_look_) watchdog_.changed_.NotifyOne();
}

Watchdog::Watch::~Watch() {
  MutexLock lock(watchdog_.mutex_);
  watchdog_.watches_.erase(this);
}

bool Watchdog::Watch::Ended() const {
  MutexLock lock(watchdog_.mutex_);
  return ended_;
}

void Watchdog::Watch::End() {
  ended_ = true;
  ::shutdown(socket_, SHUT_RDWR);
}

Watchdog::Watchdog() : thread_([this] { Loop(); }) {}

Watchdog::~Watchdog() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyOne();
  }
  thread_.join();
}

void Watchdog::Abort() {
  MutexLock lock(mutex_);
  aborted_ = true;
  for (Watch* watch : watches_) watch->End();
}

void Watchdog::Loop() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    const Time now = std::chrono::steady_clock::now();
    next_look_ = Time::max();
    for (Watch* watch : watches_) {
      if (watch->ended_) continue;
      if (watch->deadline_ <= now) {
        watch->End();
      } else {
        next_look_ = std::min(next_look_, watch->deadline_);
      }
    }
    if (next_look_ == Time::max()) {
      changed_.Wait(mutex_);
    } else {
      changed_.WaitUntil(mutex_, next_look_);
    }
  }
}

}  // namespace assay::storage
