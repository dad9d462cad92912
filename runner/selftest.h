// `assay-runner selftest`: whether this machine's benchmarks give the right results.
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "kernels/registry.h"

namespace assay {

// How often stderr tells which benchmark is waited for.
inline constexpr Duration kSelftestPatience = std::chrono::seconds(30);
// How long the driver may take to say which GPUs it has: without a persistence daemon that is
// seconds for each.
inline constexpr Duration kListingPatience = std::chrono::minutes(2);

// [NAME [k=v...]]... [--gpu N] [--require-gpu]: verifies every benchmark, or these, a line each
// on stdout, and sums up in the last one. What is given stands in for the parameters of the
// benchmark's self-test. Of several GPUs each is verified, in a process of its own beside those
// of the others, and their lines come as they are done; with --gpu one alone.
//
// A driver that does not say within `listing_patience` which GPUs it has fails it, and nothing ran.
// SIGINT and SIGTERM end it: whatever has given no answer by then is told, and the rest summed
// up. The caller should leave by _exit then, for work that gives none may still be running.
//
// Returns kExitSignal and the signal if one ended it; else kExitFailed if anything failed; else
// kExitUsage if parameters contradict each other; else kExitUnsupported if this machine cannot
// run a benchmark that was named, or lacks the GPU that --gpu asks for, or has one that CUDA does
// not offer (--require-gpu), and then nothing ran.
int SelftestCommand(const Registry& registry, const std::vector<std::string>& arguments,
                    Duration patience = kSelftestPatience,
                    Duration listing_patience = kListingPatience);

}  // namespace assay
