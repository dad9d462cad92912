// Reads one value through the installed headers and libraries.
#include <cstdio>

#include "roofline/spec_sheet.h"

int main() {
  const auto* sheet = assay::SheetNamed("H200 SXM");
  if (sheet == nullptr) {
    std::puts("no sheet of the H200 SXM");
    return 1;
  }
  std::puts("found the sheet of the H200 SXM");
}
