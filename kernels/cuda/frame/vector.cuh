// 16 bytes of elements: the unit that a thread reads or writes.
#pragma once

namespace assay {

template <typename T>
struct alignas(16) Vector {
  static constexpr int kLength = 16 / sizeof(T);
  T element[kLength];
};

}  // namespace assay
