#include "kernels/cuda/frame/rotation.h"

#include <algorithm>

#include "common/units.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/frame/device.h"

namespace assay {

Result<Rotation> PlanRotation(bool cold, int64_t set_bytes, int64_t l2_bytes,
                              int64_t available_bytes, const std::string& what) {
  const int64_t least = cold ? std::max<int64_t>(1, (2 * l2_bytes + set_bytes - 1) / set_bytes) : 1;
  const int64_t wanted = cold ? least + 1 : 1;
  const int64_t fitting = available_bytes / set_bytes;
  if (fitting < least) {
    NoteMissingDeviceBytes(least * set_bytes - available_bytes);
    return OutOfMemory(what + " needs " + ApproximateBytes(least * set_bytes) + " of GPU memory (" +
                       std::to_string(least) + " x " + ApproximateBytes(set_bytes) + "); " +
                       ApproximateBytes(available_bytes) + " are free")
        .WithHint("a size of at most " + ApproximateBytes(available_bytes / least) +
                  " for all arrays together would fit");
  }
  return Rotation(std::min(wanted, fitting));
}

}  // namespace assay
