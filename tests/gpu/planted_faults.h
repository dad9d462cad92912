// What the tests of planted faults have in common.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "kernels/benchmark.h"

namespace assay {

// Prints and counts a failure.
void Fail(const std::string& what);

// A failure unless the verdict says `passes`, with its reference, and with a detail if
// and only if it does not pass. Prints it if it failed or if `loud`.
void Expect(const std::string& what, const Result<Verdict>& verdict, bool passes, bool loud = true);

// The checks by themselves, on inputs and outputs that the tests make.
void TestPieces();

// Assay's own kernels of the benchmarks that run cuBLASLt's or NCCL's, which make inputs, sum
// up and verify: all of them, beside results that the host has computed. compute-sanitizer's
// racecheck fails in the vendors' kernels; in these it works.
void TestBesideVendors();

// Kernels that write behind their memory, and whose warps race for shared memory: errors to
// compute-sanitizer, while the GPU by itself need see neither.
Status WriteOutOfBounds();
Status RaceForSharedMemory();

// Parts of TestBesideVendors.
Status TestGemm();
Status TestHostGemm();
// Of NCCL's builds alone.
Status TestReductions();
Status TestMoves();
Status TestRing();

}  // namespace assay
