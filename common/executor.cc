#include "common/executor.h"

#include <pthread.h>

#include <deque>
#include <exception>
#include <future>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "common/log.h"
#include "common/mutex.h"

namespace assay {
namespace {

class ThreadPool : public Executor {
 public:
  ThreadPool(int threads, std::string name) : name_(std::move(name)) {
    threads_.reserve(static_cast<size_t>(threads));
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
  }

  ~ThreadPool() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    changed_.NotifyAll();
    for (std::thread& thread : threads_) thread.join();
  }

  void Post(Task task) override {
    {
      MutexLock lock(mutex_);
      ready_.push_back(std::move(task));
    }
    changed_.NotifyOne();
  }

  void PostAfter(Duration delay, Task task) override {
    {
      MutexLock lock(mutex_);
      delayed_.emplace(std::chrono::steady_clock::now() + delay, std::move(task));
    }
    changed_.NotifyOne();
  }

 private:
  void Run() {
    // Linux keeps 15 characters of a thread's name.
    pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
    for (;;) {
      Task task = Next();
      if (!task) return;
      try {
        task();
      } catch (const std::exception& error) {
        Log().error("a task of executor {} threw: {}", name_, error.what());
      }
    }
  }

  // Waits for a task that is due. Returns an empty task when the pool stops.
  Task Next() {
    MutexLock lock(mutex_);
    for (;;) {
      if (stopping_) return nullptr;
      const auto now = std::chrono::steady_clock::now();
      while (!delayed_.empty() && delayed_.begin()->first <= now) {
        ready_.push_back(std::move(delayed_.begin()->second));
        delayed_.erase(delayed_.begin());
      }
      if (!ready_.empty()) {
        Task task = std::move(ready_.front());
        ready_.pop_front();
        if (!ready_.empty()) changed_.NotifyOne();
        return task;
      }
      if (delayed_.empty()) {
        changed_.Wait(mutex_);
      } else {
        changed_.WaitUntil(mutex_, delayed_.begin()->first);
      }
    }
  }

  const std::string name_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ASSAY_GUARDED_BY(mutex_) = false;
  std::deque<Task> ready_ ASSAY_GUARDED_BY(mutex_);
  std::multimap<std::chrono::steady_clock::time_point, Task> delayed_ ASSAY_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Executor> NewThreadPool(int threads, std::string name) {
  return std::make_unique<ThreadPool>(threads, std::move(name));
}

void RunOn(Executor* executor, const std::function<void()>& task) {
  std::promise<void> done;
  executor->Post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace assay
