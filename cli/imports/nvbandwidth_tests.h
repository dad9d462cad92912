// The tests of nvbandwidth by their names.
#pragma once

#include <string>
#include <string_view>

namespace assay::imports {

enum class NvbandwidthKind {
  kHost,   // Between the host and a GPU.
  kPeer,   // Between GPUs.
  kLocal,  // Within a GPU.
  kUnknown,
};

// Of exactly the names that nvbandwidth 0.2 to 0.10 has had.
NvbandwidthKind KindOf(std::string_view test);

// The test's name that is closest to `test`; empty if none is close.
std::string ClosestTest(std::string_view test);

}  // namespace assay::imports
