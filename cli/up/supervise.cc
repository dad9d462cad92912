#include "cli/up/supervise.h"

#include <poll.h>

#include <algorithm>
#include <optional>

#include "cli/views/output.h"
#include "common/clock.h"

namespace assay::cli {
namespace {

constexpr Duration kFirstDelay = std::chrono::seconds(1);
constexpr Duration kLongestDelay = std::chrono::seconds(30);
constexpr Duration kStable = std::chrono::minutes(1);

// A program and the time of its next restart.
class Watched {
 public:
  explicit Watched(const Supervised& program) : program_(program) {}

  // The time of the next restart; absent while the program runs.
  const std::optional<MonotonicTime>& restart_at() const { return restart_at_; }
  // Returns -1, which poll(2) ignores, while the program does not run.
  int pidfd() const { return restart_at_ ? -1 : program_.pidfd(); }

  void Ended() {
    if (Clock::Real().Now() - started_ >= kStable) delay_ = kFirstDelay;
    Postpone(program_.describe_end());
  }

  void Restart() {
    const Status status = program_.restart();
    if (status.reason() == Reason::kInterrupted) return;
    if (!status.ok()) return Postpone(status.message() + "\n" + status.hint());
    restart_at_.reset();
    started_ = Clock::Real().Now();
    PrintError("assay: " + program_.name + " is up again\n");
  }

 private:
  void Postpone(const std::string& why) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(delay_).count();
    PrintError("assay: " + why + (why.ends_with("\n") ? "" : "\n") + "assay: restarting " +
               program_.name + " in " + std::to_string(seconds) + " s\n");
    restart_at_ = Clock::Real().Now() + delay_;
    delay_ = std::min(2 * delay_, kLongestDelay);
  }

  const Supervised& program_;
  MonotonicTime started_ = Clock::Real().Now();
  Duration delay_ = kFirstDelay;
  std::optional<MonotonicTime> restart_at_;
};

}  // namespace

void Supervise(const std::vector<Supervised>& programs, int signals) {
  std::vector<Watched> watched(programs.begin(), programs.end());
  while (true) {
    std::vector<pollfd> polled = {{signals, POLLIN, 0}};
    bool restarting = false;
    for (const Watched& one : watched) {
      polled.push_back({one.pidfd(), POLLIN, 0});
      restarting = restarting || one.restart_at();
    }
    constexpr int kRestartCheckMs = 100;
    const int timeout = restarting ? kRestartCheckMs : -1;
    if (poll(polled.data(), polled.size(), timeout) < 0) continue;
    if (polled[0].revents != 0) return;
    for (size_t i = 0; i < watched.size(); ++i) {
      if (polled[i + 1].revents != 0) {
        watched[i].Ended();
      } else if (watched[i].restart_at() && *watched[i].restart_at() <= Clock::Real().Now()) {
        watched[i].Restart();
      }
    }
  }
}

}  // namespace assay::cli
