// Whether the ranks of a gang have the same software: another driver, another NCCL or
// another setting of NCCL hangs or fails in ways that name none of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/status.h"
#include "gang/peers.h"
#include "kernels/benchmark.h"

namespace assay {

// What has to be the same at all ranks, by name: "NCCL" -> "2.28.9".
using Versions = std::map<std::string, std::string>;

// This process': the runner's version and, for benchmarks on GPUs, those of driver, CUDA
// runtime and NCCL and the NCCL variables that are set (but those that name things of one
// host).
Versions OwnVersions(Resource resource);

// Called by all ranks, which get the same answer: OK, FAILED_PRECONDITION
// (VERSION_MISMATCH) that says which rank has what, or the loss of a rank.
Status CheckVersions(Peers& peers, const Versions& mine);

// "NCCL is 2.28.9 at ranks 0, 1, 3 and 2.27.3 at rank 2": which ranks have which of
// `values`, one a rank; empty if all have the same.
std::string DifferenceOfRanks(const std::string& what, const std::vector<std::string>& values);

}  // namespace assay
