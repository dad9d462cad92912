// What tcp_bandwidth sends: a stream of blocks of which either end knows every byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace assay {

// Bytes of a block, and of the buffers that a stream is sent from and received into: as
// little as fits the CPU's cache beside the kernel's own, as much as makes calls rare.
inline constexpr size_t kStreamBlockBytes = size_t{128} << 10;

// What comparing received bytes found.
struct StreamMismatches {
  int64_t checked = 0;  // Bytes.
  int64_t wrong = 0;
  std::string first;  // "byte 17 of block 3 of stream 1 is 0xff, should be 0x20"; empty if none.

  void Add(const StreamMismatches& other);
};

// The blocks of one stream. All have the same pseudorandom bytes but for their first eight,
// which tell one block from another. Used by one thread.
class StreamPattern {
 public:
  // `stream` tells streams of one case apart.
  StreamPattern(uint64_t seed, int stream);

  // The bytes of block `index`, valid until the next call.
  const char* Block(int64_t index);

  // Compares bytes `begin` to `end` of `data`, which should be block `index`.
  StreamMismatches Compare(const char* data, size_t begin, size_t end, int64_t index);

  // Compares what tells the block from others, and eight bytes elsewhere in it, at another
  // place in every block: little enough for what is being timed.
  StreamMismatches Sample(const char* data, int64_t index);

 private:
  const uint64_t seed_;
  const int stream_;
  std::vector<uint64_t> words_;
};

}  // namespace assay
