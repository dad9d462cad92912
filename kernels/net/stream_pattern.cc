#include "kernels/net/stream_pattern.h"

#include <cstdio>
#include <cstring>

#include "kernels/random.h"

namespace assay {
namespace {

constexpr size_t kWordBytes = sizeof(uint64_t);
constexpr size_t kWords = kStreamBlockBytes / kWordBytes;

}  // namespace

void StreamMismatches::Add(const StreamMismatches& other) {
  checked += other.checked;
  wrong += other.wrong;
  if (first.empty()) first = other.first;
}

StreamPattern::StreamPattern(uint64_t seed, int stream)
    : seed_(RandomAt(seed, static_cast<uint64_t>(stream))), stream_(stream), words_(kWords) {
  for (size_t i = 1; i < kWords; ++i) words_[i] = RandomAt(seed_, i);
}

const char* StreamPattern::Block(int64_t index) {
  words_[0] = RandomAt(~seed_, static_cast<uint64_t>(index));
  return reinterpret_cast<const char*>(words_.data());
}

StreamMismatches StreamPattern::Compare(const char* data, size_t begin, size_t end, int64_t index) {
  StreamMismatches found;
  found.checked = static_cast<int64_t>(end - begin);
  const char* const expected = Block(index);
  if (std::memcmp(data + begin, expected + begin, end - begin) == 0) return found;
  for (size_t i = begin; i < end; ++i) {
    if (data[i] == expected[i]) continue;
    if (found.wrong++ > 0) continue;
    char text[128];
    std::snprintf(text, sizeof text,
                  "byte %zu of block %lld of stream %d is 0x%02x, should be 0x%02x", i,
                  static_cast<long long>(index), stream_, static_cast<unsigned char>(data[i]),
                  static_cast<unsigned char>(expected[i]));
    found.first = text;
  }
  return found;
}

StreamMismatches StreamPattern::Sample(const char* data, int64_t index) {
  const size_t word = 1 + RandomAt(seed_, static_cast<uint64_t>(index)) % (kWords - 1);
  StreamMismatches found = Compare(data, 0, kWordBytes, index);
  found.Add(Compare(data, word * kWordBytes, (word + 1) * kWordBytes, index));
  return found;
}

}  // namespace assay
