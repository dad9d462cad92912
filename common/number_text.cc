#include "common/number_text.h"

#include <array>
#include <cstdio>

namespace assay {

std::string NumberText(double number, int digits) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*g", digits, number);
  return text.data();
}

}  // namespace assay
