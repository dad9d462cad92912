#include "common/utf8.h"

#include <cstdint>

namespace assay {

size_t Utf8Bytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
  if (bytes == 0 || lead > 0xf4 || text.size() < bytes) return 0;
  uint32_t point = lead & (0xff >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return 0;
    point = point << 6 | (next & 0x3f);
  }
  const bool overlong = (bytes == 3 && point < 0x800) || (bytes == 4 && point < 0x10000);
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  return overlong || surrogate || point > 0x10ffff ? 0 : bytes;
}

bool IsPlainText(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = Utf8Bytes(text);
    if (bytes == 0) return false;
    const auto lead = static_cast<unsigned char>(text[0]);
    if (lead < 0x20 || lead == 0x7f) return false;
    if (lead == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace assay
