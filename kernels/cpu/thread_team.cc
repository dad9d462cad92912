#include "kernels/cpu/thread_team.h"

#include <sched.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "host/cpu.h"

namespace assay {
namespace {

// Pins the calling thread to the `index`-th CPU that the process may use. Does nothing if there are
// not that many.
void PinTo(int index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || index-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

}  // namespace

Result<std::unique_ptr<ThreadTeam>> ThreadTeam::Start(int threads, Pinning pinning) {
  std::unique_ptr<ThreadTeam> team(new ThreadTeam(pinning));
  try {
    for (int worker = 0; worker < threads; ++worker) {
      team->threads_.emplace_back([self = team.get(), worker] { self->Work(worker); });
    }
  } catch (const std::system_error& error) {
    return Status(Code::kResourceExhausted, Reason::kOutOfThreads,
                  "the system refused thread " + std::to_string(team->size() + 1) + " of " +
                      std::to_string(threads) + ": " + error.what());
  }
  return team;
}

ThreadTeam::~ThreadTeam() {
  body_ = nullptr;
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::Run(const std::function<void(int)>& body) {
  body_ = &body;
  working_.store(size());
  round_.fetch_add(1);
  round_.notify_all();
  for (int left = working_.load(); left != 0; left = working_.load()) working_.wait(left);
}

void ThreadTeam::Work(int worker) {
  if (pinning_ == Pinning::kOneCpuEach) PinTo(worker);
  for (uint32_t seen = 0;; ++seen) {
    round_.wait(seen);
    if (body_ == nullptr) return;
    (*body_)(worker);
    if (working_.fetch_sub(1) == 1) working_.notify_one();
  }
}

std::pair<int64_t, int64_t> ThreadTeam::Share(int64_t elements, int worker) const {
  const auto share = [&](int64_t index) {
    return elements / size() * index + std::min(elements % size(), index);
  };
  return {share(worker), share(worker + 1)};
}

Status CheckThreadCount(int threads) {
  const int most = 4 * Cpu().threads;
  if (threads <= most) return Status::Ok();
  return InvalidArgument("threads is " + std::to_string(threads) + "; it must be at most " +
                         std::to_string(most) + " here, four for each of the " +
                         std::to_string(Cpu().threads) + " that this process may run at once");
}

}  // namespace assay
