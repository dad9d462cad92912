// Exit codes of assay-runner.
#pragma once

namespace assay {

inline constexpr int kExitDone = 0;
// A case failed, for example with wrong output, lack of memory or a device error.
inline constexpr int kExitFailed = 1;
// The command line or the start message was invalid, so nothing ran.
inline constexpr int kExitUsage = 2;
// This machine cannot run the case; the reason is printed.
inline constexpr int kExitUnsupported = 3;
// The gang broke: a rank was lost or did not appear.
inline constexpr int kExitGangLost = 4;
// The process that started the runner closed the runner's stdin or stopped reading its events.
inline constexpr int kExitStopped = 5;
// Base of the exit codes for a self-test that a signal ended: 130 for SIGINT, 143 for SIGTERM.
inline constexpr int kExitSignal = 128;

}  // namespace assay
