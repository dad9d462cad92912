// Numbers for people, in messages.
#pragma once

#include <string>

namespace assay {

// `number` with at most `digits` significant digits, however small or large it is:
// "6.1e-05", "0.25", "nan".
std::string NumberText(double number, int digits = 4);

}  // namespace assay
