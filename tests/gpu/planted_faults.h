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

}  // namespace assay
