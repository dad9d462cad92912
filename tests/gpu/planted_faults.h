// What the tests of planted faults have in common.
#pragma once

#include <cuda_runtime_api.h>

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

// Memory that CUDA reaches, set to other bytes as long as this lives.
class Plant {
 public:
  Plant(void* at, const std::vector<unsigned char>& bytes) : at_(at), saved_(bytes.size()) {
    cudaMemcpy(saved_.data(), at_, saved_.size(), cudaMemcpyDefault);
    cudaMemcpy(at_, bytes.data(), bytes.size(), cudaMemcpyDefault);
  }
  ~Plant() { cudaMemcpy(at_, saved_.data(), saved_.size(), cudaMemcpyDefault); }
  Plant(const Plant&) = delete;
  Plant& operator=(const Plant&) = delete;

 private:
  void* at_;
  std::vector<unsigned char> saved_;
};

}  // namespace assay
