// Exit codes of assay-runner.
#pragma once

namespace assay {

inline constexpr int kExitDone = 0;
// A case failed: wrong output, out of memory, an error of the device.
inline constexpr int kExitFailed = 1;
// The command line, or the start message, was wrong; nothing ran.
inline constexpr int kExitUsage = 2;
// This machine cannot run the case; the reason is printed.
inline constexpr int kExitUnsupported = 3;
// The gang broke: a rank was lost or did not appear.
inline constexpr int kExitGangLost = 4;
// The process that started the runner closed its stdin or its events.
inline constexpr int kExitStopped = 5;
// Added to the number of the signal that ended a self-test: 130 SIGINT, 143 SIGTERM.
inline constexpr int kExitSignal = 128;

}  // namespace assay
