#include "gang/contacts.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "common/units.h"
#include "gang/socket.h"

namespace assay {

std::optional<Duration> SilenceOf(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return std::chrono::milliseconds(std::min(info.tcpi_last_data_recv, info.tcpi_last_ack_recv));
}

std::string SecondsText(Duration time) {
  return NumberText(std::chrono::duration<double>(time).count()) + " s";
}

Status HostLost(int rank, Duration silence) {
  return PeerTimeout("rank " + std::to_string(rank) + ": its host has not answered for " +
                     SecondsText(silence));
}

Status RankStopped(int rank, Duration silence) {
  return PeerTimeout("rank " + std::to_string(rank) + " has not answered for " +
                     SecondsText(silence) + ": its process is stopped, or its host hangs");
}

Contacts ContactsOf(const std::vector<PeerConnection>& heartbeats) {
  Contacts contacts;
  for (const PeerConnection& one : heartbeats) {
    const std::optional<Duration> silence = SilenceOf(one.fd);
    if (!silence) continue;
    if (*silence <= kHeardWithin) contacts.heard.push_back(one.rank);
    if (*silence >= kSilentAfter) contacts.silent.push_back(one.rank);
  }
  return contacts;
}

}  // namespace assay
