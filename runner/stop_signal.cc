#include "runner/stop_signal.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace assay {
namespace {

int told = -1;  // What the handler writes to.

void Tell(int number) {
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(told, &number, sizeof number);
  errno = error;
}

}  // namespace

StopSignal::StopSignal() {
  Result<Pipe> pipe = MakePipe();
  if (!pipe.ok()) return;  // Then they end the process.
  signals_ = std::move(pipe->read);
  fcntl(signals_.get(), F_SETFL, O_NONBLOCK);
  told = pipe->write.Release();
  // No mask and signalfd(2): libraries have threads by now, which would not have the mask.
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;  // As of a job in the background.
    action = {};
    action.sa_handler = Tell;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
  }
}

int StopSignal::Take() {
  int number = 0;
  const ssize_t size = read(signals_.get(), &number, sizeof number);
  return size == static_cast<ssize_t>(sizeof number) ? number : 0;
}

}  // namespace assay
