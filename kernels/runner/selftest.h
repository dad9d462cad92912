// `assay-runner selftest`: whether this machine's benchmarks give the right results.
#pragma once

#include <string>
#include <vector>

#include "kernels/registry.h"

namespace assay {

// [NAME [k=v...]]... [--gpu N] [--require-gpu]: verifies every benchmark, or these, a line each
// on stdout, and sums up in the last one. What is given stands in for the parameters of the
// benchmark's self-test. Of several GPUs each is verified, in a process of its own beside those
// of the others; with --gpu one alone.
//
// Returns kExitFailed if anything failed; else kExitUsage if parameters contradict each other;
// else kExitUnsupported if this machine cannot run a benchmark that was named, or lacks the GPU
// that --gpu or --require-gpu asks for, and then nothing ran.
int SelftestCommand(const Registry& registry, const std::vector<std::string>& arguments);

}  // namespace assay
