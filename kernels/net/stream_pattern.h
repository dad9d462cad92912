// The bytes that tcp_bandwidth sends: blocks that both ends can compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace assay {

// Bytes of a block and of a stream's buffers: small enough for the CPU's cache, large enough that
// calls are rare.
inline constexpr size_t kStreamBlockBytes = size_t{128} << 10;

// The result of comparing received bytes.
struct StreamMismatches {
  int64_t checked = 0;  // Bytes.
  int64_t wrong = 0;
  std::string first;  // "byte 17 of block 3 of stream 1 is 0xff, should be 0x20"; empty if none.

  void Add(const StreamMismatches& other);
};

// The blocks of one stream. They have the same pseudorandom bytes except for the first eight, which
// identify the block. Used by one thread.
class StreamPattern {
 public:
  // `stream` is the number of the stream in its case.
  StreamPattern(uint64_t seed, int stream);

  // Returns the bytes of block `index`, valid until the next call.
  const char* Block(int64_t index);

  // Compares bytes `begin` to `end` of `data`, which should be block `index`.
  StreamMismatches Compare(const char* data, size_t begin, size_t end, int64_t index);

  // Compares the bytes that identify the block and eight others, at a different place in every
  // block. This is cheap enough for timed blocks.
  StreamMismatches Sample(const char* data, int64_t index);

 private:
  const uint64_t seed_;
  const int stream_;
  std::vector<uint64_t> words_;
};

}  // namespace assay
