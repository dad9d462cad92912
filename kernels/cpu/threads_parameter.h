// The parameter "threads" of the CPU benchmarks.
#pragma once

#include "kernels/declaration.h"

namespace assay {

inline Parameter ThreadsParameter() {
  return Parameter::Integer("threads").Default(0).AtLeast(0).AtMost(4096).Describe(
      "threads; 0: as many as the process may keep busy; at most four times that");
}

}  // namespace assay
