// Declarations that the tests of planted faults share.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "kernels/benchmark.h"

namespace assay {

// Prints and counts a failure.
void Fail(const std::string& what);

// Counts a failure unless the verdict equals `passes`, has a reference, and has a detail if and
// only if it does not pass. Prints the verdict if it failed or if `loud`.
void Expect(const std::string& what, const Result<Verdict>& verdict, bool passes, bool loud = true);

// Test the checks alone, on inputs and outputs that the tests generate.
void TestPieces();

// Tests Assay's own kernels in the benchmarks that run cuBLASLt or NCCL, which generate inputs, sum
// and verify, against results of the host. compute-sanitizer's racecheck fails in the vendors'
// kernels but works in these.
void TestBesideVendors();

// Run kernels that write beyond their memory, and kernels whose warps race for shared memory:
// errors that compute-sanitizer detects and the GPU alone may not.
Status WriteOutOfBounds();
Status RaceForSharedMemory();

// Parts of TestBesideVendors.
Status TestGemm();
Status TestHostGemm();
// In builds with NCCL.
Status TestReductions();
Status TestMoves();
Status TestRing();

}  // namespace assay
