// Checks that the ranks of a gang have the same software. Ranks with different drivers, versions or
// settings of NCCL hang, or fail with errors that do not name the cause.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/status.h"
#include "gang/peers.h"
#include "kernels/benchmark.h"

namespace assay {

// Versions and settings that must be the same at all ranks, by name: "NCCL" -> "2.28.9".
using Versions = std::map<std::string, std::string>;

// Those of this process: the version of the runner and, for benchmarks on GPUs, the versions of
// driver, CUDA runtime and NCCL, and the NCCL variables that are set, except those that differ
// between hosts by design.
Versions OwnVersions(Resource resource);

// Compares all ranks. All of them call it and get the same answer: OK, FAILED_PRECONDITION
// (VERSION_MISMATCH) that lists which ranks have which version, or the loss of a rank.
Status CheckVersions(Peers& peers, const Versions& mine);

// "NCCL is 2.28.9 at ranks 0, 1, 3 and 2.27.3 at rank 2": which ranks have which of `values`, which
// has one entry per rank. Empty if all are the same.
std::string DifferenceOfRanks(const std::string& what, const std::vector<std::string>& values);

}  // namespace assay
