// `assay-runner selftest`: whether this machine's benchmarks give the right results.
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "kernels/registry.h"

namespace assay {

// How often stderr tells which benchmark is waited for.
inline constexpr Duration kSelftestPatience = std::chrono::seconds(30);

// [NAME [k=v...]]... [--gpu N] [--require-gpu]: verifies every benchmark, or these, a line each
// on stdout, and sums up in the last one. What is given stands in for the parameters of the
// benchmark's self-test. Of several GPUs each is verified, in a process of its own beside those
// of the others, and their lines come as they are done; with --gpu one alone.
//
// SIGINT and SIGTERM end it: whatever has given no answer by then is told, and the rest summed
// up. The caller should leave by _exit then, for work that gives none may still be running.
//
// Returns kExitSignal and the signal if one ended it; else kExitFailed if anything failed; else
// kExitUsage if parameters contradict each other; else kExitUnsupported if this machine cannot
// run a benchmark that was named, or lacks the GPU that --gpu asks for, or has one that CUDA does
// not offer (--require-gpu), and then nothing ran.
int SelftestCommand(const Registry& registry, const std::vector<std::string>& arguments,
                    Duration patience = kSelftestPatience);

}  // namespace assay
