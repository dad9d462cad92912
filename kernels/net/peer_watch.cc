#include "kernels/net/peer_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>

#include "kernels/net/socket.h"

namespace assay {

PeerWatch::PeerWatch(std::vector<PeerConnection> connections, OnLost on_lost)
    : connections_(std::move(connections)), on_lost_(std::move(on_lost)) {
  // Without a pipe there is no watch, and a loss is noticed when the ranks speak next.
  if (connections_.empty() || pipe2(stop_, O_CLOEXEC) != 0) return;
  thread_ = std::thread([this] { Watch(); });
}

PeerWatch::~PeerWatch() {
  if (stop_[1] >= 0) close(stop_[1]);
  if (thread_.joinable()) thread_.join();
  if (stop_[0] >= 0) close(stop_[0]);
}

void PeerWatch::Watch() {
  std::vector<pollfd> entries = {{stop_[0], POLLIN, 0}};
  // Only the end: what the ranks say to one another is for others to read.
  for (const PeerConnection& one : connections_) entries.push_back({one.fd, POLLRDHUP, 0});
  for (;;) {
    if (poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR) return;
    if (entries[0].revents != 0) return;
    for (size_t i = 0; i < connections_.size(); ++i) {
      if (entries[i + 1].revents == 0) continue;
      on_lost_(PeerLost("rank " + std::to_string(connections_[i].rank) +
                        ": its connection ended while the gang ran"));
      return;
    }
  }
}

}  // namespace assay
