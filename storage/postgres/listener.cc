#include "storage/postgres/listener.h"

#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "common/log.h"

namespace assay::storage {
namespace {

using Clock = std::chrono::steady_clock;

// The time limit for each step of connecting and starting to listen.
constexpr auto kPatience = std::chrono::seconds(10);

}  // namespace

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
  constexpr auto kFirstDelay = std::chrono::milliseconds(100);
  auto delay = kFirstDelay;
  do {
    if (ListenOnce()) delay = kFirstDelay;
    delay = std::min(delay * 2, std::chrono::milliseconds(5'000));
  } while (!StopsBefore(-1, 0, Clock::now() + delay));
}

// Never blocks in libpq, except to resolve the host's name.
bool Listener::ListenOnce() {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectStart(conninfo_.c_str()),
                                                                &PQfinish);
  PGconn* const link = connection.get();
  Time deadline = Clock::now() + kPatience;
  PostgresPollingStatusType step = PGRES_POLLING_WRITING;
  while (PQstatus(link) != CONNECTION_BAD && step != PGRES_POLLING_OK) {
    const short wanted = step == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (StopsBefore(PQsocket(link), wanted, deadline) || Clock::now() >= deadline) return false;
    step = PQconnectPoll(link);
    if (step == PGRES_POLLING_FAILED) break;
  }
  if (PQstatus(link) != CONNECTION_OK) {
    Log().debug("cannot listen for queued jobs: the database is not there");
    return false;
  }
  if (PQsendQuery(link, ("LISTEN " + channel_).c_str()) == 0) return false;
  deadline = Clock::now() + kPatience;
  while (PQisBusy(link) != 0) {
    if (StopsBefore(PQsocket(link), POLLIN, deadline) || Clock::now() >= deadline) return false;
    if (PQconsumeInput(link) == 0) return false;
  }
  PGresult* const result = PQgetResult(link);
  const bool listening = PQresultStatus(result) == PGRES_COMMAND_OK;
  PQclear(result);
  if (!listening) return false;
  callback_();
  while (!StopsBefore(PQsocket(link), POLLIN, Time::max())) {
    if (PQconsumeInput(link) == 0) return true;
    bool notified = false;
    while (PGnotify* notification = PQnotifies(link)) {
      PQfreemem(notification);
      notified = true;
    }
    if (notified) callback_();
  }
  return true;
}

bool Listener::StopsBefore(int fd, short wanted, Time deadline) {
  int timeout_ms = -1;
  if (deadline != Time::max()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    timeout_ms = static_cast<int>(std::max<int64_t>(left, 0));
  }
  pollfd watched[] = {{stop_.get(), POLLIN, 0}, {fd, wanted, 0}};
  ::poll(watched, 2, timeout_ms);
  return watched[0].revents != 0;
}

}  // namespace assay::storage
