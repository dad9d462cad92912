#include "model/work.h"

#include <array>

namespace assay {

std::string_view ToText(Peak peak) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "", "fp64_vector", "fp64_tensor", "fp32", "tf32", "bf16", "fp8", "int8", "fp4"};
  return kNames.at(static_cast<size_t>(peak));
}

std::string_view ToText(Traffic traffic) {
  static constexpr std::array<std::string_view, 3> kNames = {"copy", "read", "write"};
  return kNames.at(static_cast<size_t>(traffic));
}

std::string_view ToText(LinkKind link) {
  static constexpr std::array<std::string_view, 3> kNames = {"nvlink", "pcie", "network"};
  return kNames.at(static_cast<size_t>(link));
}

std::string_view ToText(SmRate rate) {
  static constexpr std::array<std::string_view, 3> kNames = {"", "int32_mad", "shared_bytes"};
  return kNames.at(static_cast<size_t>(rate));
}

}  // namespace assay
