// Numbers for people, in messages.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

// `number` with at most `digits` significant digits, however small or large it is:
// "6.1e-05", "0.25", "nan".
std::string NumberText(double number, int digits = 4);

// "12.5 GiB", rounded; FormatBytes in units.h is exact.
std::string ApproximateBytes(int64_t bytes);

}  // namespace assay
