#include "model/work.h"

namespace assay {

std::string_view ToText(Peak peak) {
  switch (peak) {
    case Peak::kNone:
      return "";
    case Peak::kFp64Vector:
      return "fp64_vector";
    case Peak::kFp64Tensor:
      return "fp64_tensor";
    case Peak::kFp32:
      return "fp32";
    case Peak::kTf32:
      return "tf32";
    case Peak::kBf16:
      return "bf16";
    case Peak::kFp8:
      return "fp8";
    case Peak::kInt8:
      return "int8";
    case Peak::kFp4:
      return "fp4";
  }
  return "";
}

std::string_view ToText(Traffic traffic) {
  switch (traffic) {
    case Traffic::kCopy:
      return "copy";
    case Traffic::kRead:
      return "read";
    case Traffic::kWrite:
      return "write";
  }
  return "";
}

std::string_view ToText(LinkKind link) {
  switch (link) {
    case LinkKind::kNvlink:
      return "nvlink";
    case LinkKind::kPcie:
      return "pcie";
    case LinkKind::kNetwork:
      return "network";
  }
  return "";
}

std::string_view ToText(SmRate rate) {
  switch (rate) {
    case SmRate::kNone:
      return "";
    case SmRate::kInt32Mad:
      return "int32_mad";
    case SmRate::kSharedBytes:
      return "shared_bytes";
  }
  return "";
}

}  // namespace assay
