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
namespace {

PeerOfError Silent(int rank, Duration silence) {
  return {rank, std::chrono::duration_cast<std::chrono::milliseconds>(silence)};
}

// "15 s", "0.3 s".
std::string SecondsText(Duration time) {
  return NumberText(std::chrono::duration<double>(time).count()) + " s";
}

}  // namespace

std::optional<Duration> SilenceOf(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return std::chrono::milliseconds(std::min(info.tcpi_last_data_recv, info.tcpi_last_ack_recv));
}

Status PeerUnreachable(int rank, Duration silence) {
  return Status(Code::kDeadlineExceeded, Reason::kPeerUnreachable,
                "the host of rank " + std::to_string(rank) + " has not answered for " +
                    SecondsText(silence))
      .WithPeer(Silent(rank, silence));
}

Status PeerFrozen(int rank, Duration silence) {
  return Status(Code::kDeadlineExceeded, Reason::kPeerFrozen,
                "rank " + std::to_string(rank) + " has not answered for " + SecondsText(silence) +
                    ", although its host has: its process is stopped, or its host hangs")
      .WithPeer(Silent(rank, silence));
}

Contacts ContactsOf(const std::vector<PeerConnection>& heartbeats) {
  Contacts contacts;
  for (const PeerConnection& one : heartbeats) {
    const std::optional<Duration> silence = SilenceOf(one.socket->fd());
    if (!silence) continue;
    if (*silence <= kHeardWithin) contacts.heard.push_back(one.rank);
    if (*silence >= kSilentAfter) contacts.silent.push_back(one.rank);
  }
  return contacts;
}

}  // namespace assay
