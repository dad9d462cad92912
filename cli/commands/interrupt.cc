#include "cli/commands/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace assay::cli {
namespace {

constexpr int kExitInterrupted = 130;

sigset_t TerminationSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

FileDescriptor BlockTerminationSignals() {
  const sigset_t set = TerminationSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return FileDescriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

Interrupt::Interrupt()
    : signals_(BlockTerminationSignals()),
      end_(eventfd(0, EFD_CLOEXEC)),
      listener_([this] { Listen(); }) {}

Interrupt::~Interrupt() {
  const uint64_t one = 1;
  // Cannot fail: the counter is far from its limit.
  [[maybe_unused]] const ssize_t written = write(end_.get(), &one, sizeof one);
  listener_.join();
  const sigset_t set = TerminationSignals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void Interrupt::Listen() {
  std::array<pollfd, 2> polled = {{{signals_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}}};
  while (true) {
    if (poll(polled.data(), polled.size(), -1) < 0) continue;
    if (polled[1].revents != 0) return;
    signalfd_siginfo info{};
    if (read(signals_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) continue;
    if (requested_) _exit(kExitInterrupted);
    const MutexLock lock(mutex_);
    requested_ = true;
    changed_.NotifyAll();
    if (action_) action_();
  }
}

void Interrupt::SetAction(std::function<void()> action) {
  const MutexLock lock(mutex_);
  action_ = std::move(action);
  if (requested_ && action_) action_();
}

bool Interrupt::WaitFor(Duration duration) {
  const auto deadline = std::chrono::steady_clock::now() + duration;
  const MutexLock lock(mutex_);
  while (!requested_) {
    if (!changed_.WaitUntil(mutex_, deadline)) break;
  }
  return requested_;
}

}  // namespace assay::cli
