#include "storage/postgres/listener.h"

#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "common/log.h"

namespace assay::storage {

Listener::Listener(std::string conninfo, std::string channel, std::function<void()> callback)
    : conninfo_(std::move(conninfo)),
      channel_(std::move(channel)),
      callback_(std::move(callback)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { Loop(); }) {}

Listener::~Listener() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

void Listener::Loop() {
  constexpr int kFirstDelayMs = 100;
  int delay_ms = kFirstDelayMs;
  do {
    if (ListenOnce()) delay_ms = kFirstDelayMs;
    delay_ms = std::min(delay_ms * 2, 5'000);
  } while (!StopsBefore(-1, delay_ms));
}

bool Listener::ListenOnce() {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(conninfo_.c_str()),
                                                                &PQfinish);
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    Log().debug("cannot listen for queued jobs: the database is not there");
    return false;
  }
  PGresult* result = PQexec(connection.get(), ("LISTEN " + channel_).c_str());
  const bool listening = PQresultStatus(result) == PGRES_COMMAND_OK;
  PQclear(result);
  if (!listening) return false;
  callback_();
  while (!StopsBefore(PQsocket(connection.get()), -1)) {
    if (PQconsumeInput(connection.get()) == 0) return true;
    bool notified = false;
    while (PGnotify* notification = PQnotifies(connection.get())) {
      PQfreemem(notification);
      notified = true;
    }
    if (notified) callback_();
  }
  return true;
}

bool Listener::StopsBefore(int fd, int timeout_ms) {
  pollfd watched[] = {{stop_.get(), POLLIN, 0}, {fd, POLLIN, 0}};
  ::poll(watched, 2, timeout_ms);
  return watched[0].revents != 0;
}

}  // namespace assay::storage
