#include "coordinator/core/sessions/clock_offset.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "common/units.h"

namespace assay::coordinator {
namespace {

constexpr double kWarningSeconds = 60;
constexpr double kErrorSeconds = 600;
constexpr int64_t kEndOf9999 = 253'402'300'799;
// Maximum offset that is shown.
constexpr double kMostSeconds = 100 * 365.0 * 86'400;

}  // namespace

std::optional<double> ClockOffset(const v1::Hello& hello, WallTime received) {
  const google::protobuf::Timestamp& time = hello.time();
  const bool valid = time.seconds() >= 0 && time.seconds() <= kEndOf9999 && time.nanos() >= 0 &&
                     time.nanos() < 1'000'000'000;
  if (!hello.has_time() || !valid) return std::nullopt;
  const double sent = static_cast<double>(time.seconds()) + time.nanos() * 1e-9;
  return sent - std::chrono::duration<double>(received.time_since_epoch()).count();
}

void AddClockFinding(std::optional<double> offset_seconds, v1::NodeDescription& node) {
  if (!offset_seconds) return;
  const double distance = std::abs(*offset_seconds);
  if (distance <= kWarningSeconds) return;
  const Duration shown = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::min(distance, kMostSeconds)));
  v1::HealthFinding& finding = *node.add_health();
  finding.set_check("clock");
  finding.set_severity(distance > kErrorSeconds ? v1::HealthFinding::SEVERITY_ERROR
                                                : v1::HealthFinding::SEVERITY_WARNING);
  finding.set_message("the clock was " + FormatDuration(shown) +
                      (*offset_seconds > 0 ? " ahead of" : " behind") +
                      " the coordinator's when the agent connected; synchronize it, for example "
                      "with chrony");
}

}  // namespace assay::coordinator
