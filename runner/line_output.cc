#include "runner/line_output.h"

#include <poll.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "common/subprocess.h"

namespace assay {
namespace {

constexpr int kForReaderMillis = 1000;

void Write(const std::string& text, FILE* stream) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

}  // namespace

bool LineOutput::Print(const std::string& line, bool stopped) {
  if (unread_) return false;
  Result<Pipe> done = MakePipe();
  if (!done.ok()) {  // No descriptors are left.
    Write(line + "\n", stream_);
    return true;
  }
  std::thread([stream = stream_, text = line + "\n", end = std::move(done->write)]() mutable {
    Write(text, stream);
    end.Close();
  }).detach();
  pollfd polled[] = {{done->read.get(), POLLIN, 0}, {stop_, POLLIN, 0}};
  const auto written = [&](nfds_t count, int timeout) {
    while (poll(polled, count, timeout) < 0 && errno == EINTR) {
    }
    return polled[0].revents != 0;
  };
  unread_ = !(!stopped && written(2, -1)) && !written(1, kForReaderMillis);
  return !unread_;
}

}  // namespace assay
