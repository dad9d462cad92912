// 16 bytes of elements: what a thread reads or writes at once.
#pragma once

namespace assay {

template <typename T>
struct alignas(16) Vector {
  static constexpr int kLength = 16 / sizeof(T);
  T element[kLength];
};

}  // namespace assay
