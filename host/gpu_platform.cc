#include "host/gpu_platform.h"

namespace assay {

LinkedSoftware Software() {
  LinkedSoftware software;
  if (Gpu() != nullptr) Gpu()->FillVersions(&software);
  return software;
}

}  // namespace assay
