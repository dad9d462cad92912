#include "cli/commands/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
namespace assay::cli {
namespace {

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

int ReadSignal(const FileDescriptor& signals) {
  signalfd_siginfo info{};
  const ssize_t got = read(signals.get(), &info, sizeof info);
  return got == static_cast<ssize_t>(sizeof info) ? static_cast<int>(info.ssi_signo) : 0;
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
    const int signal = ReadSignal(signals_);
    if (signal == 0) continue;
    if (requested()) _exit(ExitCodeOfSignal(signal));
    const MutexLock lock(mutex_);
    signal_ = signal;
    changed_.NotifyAll();
    if (action_) action_();
  }
}

void Interrupt::SetAction(std::function<void()> action) {
  const MutexLock lock(mutex_);
  action_ = std::move(action);
  if (requested() && action_) action_();
}

bool Interrupt::WaitFor(Duration duration) {
  const auto deadline = std::chrono::steady_clock::now() + duration;
  const MutexLock lock(mutex_);
  while (!requested()) {
    if (!changed_.WaitUntil(mutex_, deadline)) break;
  }
  return requested();
}

}  // namespace assay::cli
