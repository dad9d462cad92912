// A mutex with annotations for Clang's thread-safety analysis, which checks at compile time that
// annotated members are accessed only while their mutex is held.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define ASSAY_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define ASSAY_THREAD_ANNOTATION(x)
#endif

#define ASSAY_GUARDED_BY(mutex) ASSAY_THREAD_ANNOTATION(guarded_by(mutex))
#define ASSAY_REQUIRES(...) ASSAY_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define ASSAY_EXCLUDES(...) ASSAY_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace assay {

class ASSAY_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void Lock() ASSAY_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void Unlock() ASSAY_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds `mutex` during the lifetime of this object.
class ASSAY_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ASSAY_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ASSAY_THREAD_ANNOTATION(release_capability()) { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition variable. Wakeups may be spurious, so always wait in a loop that rechecks the
// condition while holding `mutex`.
class CondVar {
 public:
  void Wait(Mutex& mutex) ASSAY_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }

  // Returns false if `deadline` passed first.
  bool WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point deadline)
      ASSAY_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const bool woken = condition_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return woken;
  }

  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace assay
