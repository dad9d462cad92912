#include "runner/stoppable_output.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace assay {
namespace {

constexpr int kMillisecondsAfterSignal = 1000;

volatile sig_atomic_t arrived = 0;
int handler_fd = -1;  // The handler writes to it. Nothing reads the other end, StopSignal::fd().

void Handle(int number) {
  const int error = errno;
  arrived = number;
  [[maybe_unused]] const ssize_t written = write(handler_fd, "!", 1);
  errno = error;
}

}  // namespace

StopSignal::StopSignal() {
  Result<Pipe> pipe = MakePipe();
  if (!pipe.ok()) return;  // The signals keep ending the process.
  signals_ = std::move(pipe->read);
  handler_fd = pipe->write.Release();
  arrived = 0;
  // signalfd(2) needs the signals blocked in every thread, but libraries have started some by now.
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;  // As in a job in the background.
    action = {};
    action.sa_handler = Handle;  // Without SA_RESTART: a blocked write(2) ends with EINTR.
    sigaction(number, &action, nullptr);
  }
}

int StopSignal::number() { return arrived; }

bool StoppableOutput::WaitForRoom() {
  pollfd polled[] = {{fd_, POLLOUT, 0}, {signal_.fd(), POLLIN, 0}};
  const auto has_room = [&](nfds_t count, int timeout) {
    while (poll(polled, count, timeout) < 0 && errno == EINTR) {
    }
    return polled[0].revents != 0;
  };
  return has_room(2, -1) || has_room(1, kMillisecondsAfterSignal);
}

void StoppableOutput::Print(const std::string& line) {
  const std::string text = line + "\n";
  for (std::string_view rest = text; !rest.empty() && !dropped_;) {
    if (!WaitForRoom()) {
      dropped_ = true;
      return;
    }
    // A pipe with any room takes PIPE_BUF bytes without blocking.
    const ssize_t wrote = write(fd_, rest.data(), std::min<size_t>(rest.size(), PIPE_BUF));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      dropped_ = true;
      failed_ = errno != EPIPE;
      return;
    }
    rest.remove_prefix(static_cast<size_t>(wrote));
  }
}

}  // namespace assay
