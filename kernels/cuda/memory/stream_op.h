// The loops of the memory_bandwidth benchmark: the four loops of STREAM (McCalpin 1995), and loops
// that only read or only write.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace assay {

enum class StreamOp { kCopy, kScale, kAdd, kTriad, kRead, kWrite, kMemset };

// Returns the loop with this name, which must be valid.
inline StreamOp StreamOpOf(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, StreamOp>, 7> kOps = {
      {{"copy", StreamOp::kCopy},
       {"scale", StreamOp::kScale},
       {"add", StreamOp::kAdd},
       {"triad", StreamOp::kTriad},
       {"read", StreamOp::kRead},
       {"write", StreamOp::kWrite},
       {"memset", StreamOp::kMemset}}};
  for (const auto& [known, op] : kOps) {
    if (name == known) return op;
  }
  return StreamOp::kCopy;
}

// The number of input elements that the read loop adds up per output element. Inputs are whole
// numbers below 4096, so the sum is exact in fp32 regardless of the order.
inline constexpr int64_t kReadTile = 4096;

// Returns the number of arrays that an iteration reads.
inline int InputsOf(StreamOp op) {
  if (op == StreamOp::kAdd || op == StreamOp::kTriad) return 2;
  return op == StreamOp::kWrite || op == StreamOp::kMemset ? 0 : 1;
}

// Returns the number of elements that an iteration writes, if arrays have `elements` elements.
inline int64_t OutputElements(StreamOp op, int64_t elements) {
  return op == StreamOp::kRead ? (elements + kReadTile - 1) / kReadTile : elements;
}

// Returns the number of full-length arrays that an iteration reads or writes. Excludes the output
// of kRead, which is much shorter.
inline int ArraysOf(StreamOp op) { return InputsOf(op) + (op == StreamOp::kRead ? 0 : 1); }

}  // namespace assay
